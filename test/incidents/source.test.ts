import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PermissionDenied, Unavailable } from '../../fencing/model/errors.ts';
import { type IncidentSource, readIncidents } from '../../incidents/source.ts';

const example = (name: string): string => readFileSync(new URL(`examples/${name}.json`, import.meta.url), 'utf8');

const sourceOf = (texts: Readonly<Record<string, string | null | Error>>): IncidentSource => ({
  where: 'a test',
  list: async () => Object.keys(texts).map((name) => ({ name, written: null })),
  read: async (name) => {
    const text = texts[name] ?? null;
    if (text instanceof Error) throw text;
    return text;
  },
});

const readAll = async (
  texts: Readonly<Record<string, string | null | Error>>,
  signal = new AbortController().signal,
) => {
  const source = sourceOf(texts);
  return readIncidents(await source.list(signal), source, signal);
};

describe('incidents that are read from their place', () => {
  it('are those in the objects, and an object that is gone is none', async () => {
    const { incidents, damaged } = await readAll({ a: example('fence'), b: example('refusal'), gone: null });
    expect(incidents.map(({ state }) => state)).toEqual(['fenced', 'refused']);
    expect(damaged).toEqual([]);
  });

  it('are joined if a copy of one is next to it', async () => {
    const { incidents } = await readAll({ early: example('fence'), late: example('fence-and-release') });
    expect(incidents).toMatchObject([{ state: 'released', ends: [{}, {}] }]);
  });
});

describe('an object that cannot be read', () => {
  const newer = example('fence').replace('"version": 1', '"version": 2');
  const wrong = example('fence').replace('"state": "fenced"', '"state": "done"');

  it.each([
    ['is empty', ' \n', /it is empty/, /copy the object again/],
    ['was cut', example('fence').slice(0, 900), /it is not JSON/, /copy the object again/],
    ['is something else', '{"name":"cloudfence"}', /it is no incident of Cloudfence/, /keep only incidents/],
    ['is newer', newer, /it has version 2, and only version 1 is understood/, /use a newer Cloudfence/],
    ['has a wrong value', wrong, /^state: /, /copy the object again/],
    ['may not be read', new PermissionDenied('denied'), /denied/, /try again/],
    ['does not come', new Unavailable('timed out'), /timed out/, /try again/],
    ['fails', new Error('a bug'), /a bug/, /try again/],
  ])('that %s is named, and hides no other', async (_, text, what, remedy) => {
    const { incidents, damaged } = await readAll({ broken: text, good: example('refusal') });
    expect(incidents).toHaveLength(1);
    expect(damaged).toEqual([
      { name: 'broken', what: expect.stringMatching(what), remedy: expect.stringMatching(remedy) },
    ]);
  });

  it('is not named if the time is over, because then nothing is read', async () => {
    const signal = AbortSignal.abort(new Unavailable('the time is up'));
    await expect(readAll({ broken: new Error('aborted') }, signal)).rejects.toThrow('the time is up');
  });
});
