import { describe, expect, it } from 'vitest';
import { percentile, shadowSummaryOf, phaseDurations } from '../../report/figures.ts';
import { objectsToRead, requireIncidents, selected } from '../../report/select.ts';
import type { Incident } from '../../incidents/incident.ts';
import { shadowStory } from '../../report/words.ts';
import { fenced, imagined, refused, released, reportOf, withPhases } from './samples.ts';

describe('a percentile', () => {
  it('is one of the values: the nearest rank', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
    expect([0.5, 0.9, 0.99].map((share) => percentile(hundred, share))).toEqual([50, 90, 99]);
    expect([0.5, 0.9, 0.99].map((share) => percentile([1, 2, 3], share))).toEqual([2, 3, 3]);
    expect(percentile([], 0.5)).toBeNull();
  });
});

describe('the spread of a phase', () => {
  it('includes only incidents in which both of its ends are known, and in the right order', () => {
    const some = [
      withPhases(fenced, 'a', { received: 2, proven: 3 }),
      withPhases(fenced, 'b', { received: 2, proven: 5 }),
      withPhases(fenced, 'other clock', { received: 9, proven: 1 }),
      { ...withPhases(fenced, 'c', {}), phases: { ...fenced.phases, proven: null } },
      refused,
    ];
    const proof = phaseDurations(some).phases.find(({ to }) => to === 'proven');
    expect(proof).toMatchObject({ known: 2, of: 4, p50: 1_000, p90: 3_000, longest: 3_000 });
  });
});

describe('the summary of shadow mode', () => {
  const kept = { ...refused, id: 'refused', shadow: true };

  it('counts what would have been fenced, and what would have been refused and why', () => {
    expect(shadowSummaryOf([imagined, kept, { ...kept, id: 'again' }, released])).toMatchObject({
      incidents: 3,
      wouldFence: 1,
      refusals: [{ code: 'paused', count: 2, says: 'paused: network maintenance' }],
      steps: new Map([
        ['mark', 1],
        ['delete-pod', 1],
      ]),
    });
  });

  const seenAfter = (
    id: string,
    after: Parameters<typeof withPhases>[2],
    watch: Incident['watch'] = null,
  ): Incident => ({
    ...withPhases(imagined, id, after),
    fence: null,
    watch,
  });

  it('counts a time only if it was observed, and says in how many incidents it was not', () => {
    expect(shadowSummaryOf([imagined, kept])).toMatchObject({
      managed: [],
      saved: 0,
      notSeen: new Map([['watching', 1]]),
    });
    const ended = '2026-01-02T00:00:00.000Z';
    const some = [
      seenAfter('pods', { off: 0, received: 25, running: 400 }),
      seenAfter('back', { off: 0, received: 25, returned: 85 }),
      seenAfter('fenced', {}, { ended, because: 'fenced' }),
      seenAfter('for ever', {}, { ended, because: 'time-up' }),
      kept,
    ];
    expect(shadowSummaryOf(some)).toMatchObject({
      managed: [
        { cloud: 'aws', by: 'running', took: 400_000, tookFromLook: 375_000 },
        { cloud: 'aws', by: 'returned', took: 85_000, tookFromLook: 60_000 },
      ],
      saved: 375_000 + 60_000 - 2 * 2_530,
      against: [{ cloud: 'aws', took: 2_530, watched: 0 }],
      notSeen: new Map([
        ['fenced', 1],
        ['time-up', 1],
      ]),
    });
  });

  it('compares with the fences of the same place, on each cloud', () => {
    const own = [20, 40, 90].map((s) => withPhases(fenced, `took ${s}`, { received: 5, running: 5 + s }));
    const unseen = { ...withPhases(fenced, 'unseen', { received: 5 }), phases: { ...fenced.phases, running: null } };
    const elsewhere = { ...withPhases(fenced, 'on gcp', { received: 5, running: 6 }), cloud: 'gcp' };
    const shadow = [
      seenAfter('pods', { off: 0, received: 25, running: 425 }),
      { ...seenAfter('on azure', { off: 0, received: 25, running: 325 }), cloud: 'azure' },
      seenAfter('back at once', { off: 0, received: 25, returned: 45 }),
    ];
    const summary = shadowSummaryOf(shadow, [...shadow, ...own, unseen, elsewhere]);
    expect(summary).toMatchObject({
      saved: 400_000 - 40_000 + 300_000 - 2_530,
      against: [
        { cloud: 'aws', took: 40_000, watched: 3 },
        { cloud: 'azure', took: 2_530, watched: 0 },
      ],
    });
    const words = shadowStory(summary).join(' ');
    expect(words).toContain('On aws, it counts against 40.0 s: half of the 3 fences that sweeps have watched here');
    expect(words).toMatch(
      /On azure, it counts against 2\.5\d? s of a test bench .* no fence of Cloudfence was watched here/,
    );
  });

  it('counts an incident once: a later run that refuses does not count as a refusal', () => {
    const both = { ...imagined, state: 'refused' as const, ends: [...imagined.ends, ...kept.ends] };
    expect(shadowSummaryOf([both])).toMatchObject({ wouldFence: 1, refusals: [], notSeen: new Map([['watching', 1]]) });
  });

  it('says in words what was observed and what was not, and with what it compares', () => {
    const words = shadowStory(
      shadowSummaryOf([seenAfter('pods', { off: 0, received: 25, running: 400 }), imagined]),
    ).join(' ');
    expect(words).toContain('It took 6 min 40 s in all until Kubernetes managed by itself, observed in 1 incident');
    expect(words).toContain('Cloudfence would have saved 6 min 12 s of that');
    expect(words).toContain('of a test bench (Cloudfence: AWS handler, warm');
    expect(words).toContain('In 1 incident: not seen to end so far. No time is counted.');
    expect(shadowStory(shadowSummaryOf([imagined]))[0]).toBe('How long Kubernetes took by itself was not observed.');
  });
});

describe('the choice of incidents', () => {
  const all = [refused, { ...released, node: 'node-b' }, imagined];
  const wanted = { target: null, since: null, shadow: false };

  it.each([released.id, 'node-b', 'node/node-b'])('finds %s', (target) =>
    expect(selected(all, { ...wanted, target }).map(({ id }) => id)).toEqual([released.id]),
  );
  it('reads the object of a Node whose name has half of a character', () => {
    const objects = [
      { name: 'incidents/prod/node%EF%BF%BD/f.json', written: null },
      { name: 'incidents/prod/a/g.json', written: null },
    ];
    expect(objectsToRead(objects, { ...wanted, target: 'node\ud800' })).toEqual([objects[0]]);
  });
  it('finds every incident of a machine', () =>
    expect(selected(all, { ...wanted, target: refused.machine })).toHaveLength(3));
  it('includes only incidents to which something happened since then', () => {
    const since = Date.parse('2026-01-01T00:02:00.000Z');
    expect(selected(all, { ...wanted, since }).map(({ id }) => id)).toEqual([released.id]);
  });
  it('includes only what shadow mode saw', () =>
    expect(selected(all, { ...wanted, shadow: true })).toEqual([imagined]));

  it('reads only the objects whose names match, if any does', () => {
    const objects = ['incidents/c/node-1/f-1.json', 'incidents/c/node-2/f-2.json'].map((name, index) => ({
      name,
      written: index * 1_000,
    }));
    const read = (target: string | null, since: number | null = null) =>
      objectsToRead(objects, { target, since, shadow: false }).map(({ name }) => name.at(-6));
    expect([read('node-2'), read('f-1'), read('i-0'), read(null), read(null, 500)]).toEqual([
      ['2'],
      ['1'],
      ['1', '2'],
      ['1', '2'],
      ['2'],
    ]);
  });

  it('says so if there is nothing to report about a target', () => {
    const report = reportOf([], { wanted: { ...wanted, target: 'node-x' } });
    expect(() => requireIncidents(report)).toThrow(/no incident of node-x in the folder incidents/);
    expect(() => requireIncidents(reportOf([]))).not.toThrow();
  });
});
