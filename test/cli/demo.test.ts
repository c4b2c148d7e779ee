import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { scenarios } from '../../demo/scenarios.ts';
import { InvalidInput } from '../../fencing/model/errors.ts';
import { shown } from './demo-shown.ts';

const answer = z.object({
  instance: z.string(),
  timelines: z.object({
    withCloudfence: z.record(z.string(), z.number().nullable()),
    kubernetesAlone: z.record(z.string(), z.number().nullable()),
  }),
  outcomes: z.record(
    z.string(),
    z.object({ disk: z.array(z.object({ instance: z.string() })), violations: z.array(z.string()) }),
  ),
  verdict: z.object({
    right: z.boolean(),
    findings: z.array(z.object({ finding: z.string(), wrong: z.string().nullable() })),
  }),
});

type Answer = z.infer<typeof answer>;

/** Returns which milestones were reached. */
const reached = ({ timelines }: Answer) =>
  Object.values(timelines).map((timeline) =>
    Object.entries(timeline).flatMap(([name, at]) => (at === null ? [] : [name])),
  );

/**
 * Returns whether the failed machine still has the disk, and the violations, in each world. The seed selects the
 * machine that fails.
 */
const ends = ({ instance, outcomes }: Answer) =>
  Object.values(outcomes).map(({ disk, violations }) => ({
    held: disk.map((holder) => holder.instance === instance),
    violations,
  }));

const json = async (seed: string, scenario = 'stopped') => {
  const { code, lines } = await shown({ scenario, seed, json: true });
  expect(lines).toHaveLength(1);
  return { code, text: lines[0] ?? '', says: answer.parse(JSON.parse(lines[0] ?? '')) };
};

describe('cloudfence demo', () => {
  it.each(scenarios.map(({ name }) => name))('ends as expected with other seeds: %s', async (scenario) => {
    for (const seed of ['2', '4000000000']) expect((await json(seed, scenario)).code).toBe(0);
  });

  it('prints the same for the same seed over real sockets', async () => {
    const [one, other] = [await json('5', 'return'), await json('5', 'return')];
    expect(other.text).toBe(one.text);
  });

  it('ends in the same way at other times with another seed', async () => {
    const [one, other] = [await json('1'), await json('2')];
    expect(other.says.timelines).not.toEqual(one.says.timelines);
    expect([reached(other.says), ends(other.says)]).toEqual([reached(one.says), ends(one.says)]);
    expect(ends(one.says)).toEqual([
      { held: [true], violations: [] },
      { held: [false], violations: [] },
    ]);
    expect(other.says.verdict).toEqual(one.says.verdict);
  });

  it('fails and says what is wrong if Cloudfence may not patch Nodes', async () => {
    const { code, lines } = await shown({ withoutMark: true });
    expect(code).toBe(1);
    expect(lines.filter((line) => line.includes('WRONG')).map((line) => /WRONG {2}([a-z-]+)/.exec(line)?.[1])).toEqual([
      'old-attachment-gone',
      'disk-moved',
      'database-runs',
      'node-fenced',
    ]);
    expect(lines.join('\n')).toContain('dead-letter queue');
  });

  it('reports the failure in JSON as well', async () => {
    const { code, lines } = await shown({ withoutMark: true, json: true });
    const { verdict } = answer.parse(JSON.parse(lines.join('')));
    expect([code, verdict.right]).toEqual([1, false]);
  });

  it('prints nothing wider than a terminal, and no color', async () => {
    for (const { name } of scenarios) {
      const { lines } = await shown({ scenario: name, withoutMark: name === 'stopped' });
      expect(lines.filter((line) => line.length > 100 || line.includes('\u001b'))).toEqual([]);
    }
  });

  it('shows both timelines side by side', async () => {
    const { lines } = await shown({});
    const row = lines.find((line) => line.startsWith('new pod Running'));
    expect(row).toMatch(/^new pod Running +never \(watched 10 min\) +\+0:0\d\.\d$/);
  });

  it.each([
    [
      { scenario: 'stoped' },
      '"stoped" is not a scenario: use one of stopped, terminated, partition, return, node-gone',
    ],
    [{ cloud: 'sky' }, /"sky" is not a supported cloud: use one of aws/],
    [{ seed: '1.5' }, '"1.5" is not a valid seed'],
    [{ seed: '-1' }, '"-1" is not a valid seed'],
    [{ seed: '4294967296' }, '"4294967296" is not a valid seed'],
  ])('rejects the wrong usage %o', async (options, sentence) => {
    await expect(shown(options)).rejects.toThrow(InvalidInput);
    await expect(shown(options)).rejects.toThrow(sentence);
  });
});
