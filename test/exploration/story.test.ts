import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { azureManaged, ec2 } from './clouds.ts';
import type { Scenario } from './explore.ts';
import { recoveryJudge } from './liveness.ts';
import { scenarioNamed } from './named.ts';
import { type Played, replay } from './search.ts';
import { headOf, loadStory, RECOVERY_BEGINS, worldInWords } from './story.ts';
import { shortenPatience } from './time.ts';
import { FOREIGN, healthy } from './world.ts';

/**
 * Stories of what breaks if a term of the assumption does not hold, and of defects that are fixed. `npm run explore --
 * --story FILE` wrote them.
 */

const storyOf = (name: string) => loadStory(fileURLToPath(new URL(`stories/${name}.json`, import.meta.url)));

/** Returns what fresh runs do after the story. */
const recoveryOf = (scenario: Scenario, played: readonly Played[]): readonly string[] => {
  const world = played.at(-1)?.world;
  const says = world && recoveryJudge(scenario)(world);
  return says ? [RECOVERY_BEGINS, ...says] : [];
};

describe('a story', () => {
  it.each([
    'mounts-early',
    'says-off-for-long',
    'long-on-its-way',
    'posts-early',
    'gone-while-another-run-looked',
    'accepted-while-it-starts',
    'silent-since-the-question',
  ])('can be played again, and breaks the same invariant, or nothing if its defect is fixed: %s', async (name) => {
    onTestFinished(shortenPatience());
    const story = await storyOf(name);
    const scenario = scenarioNamed(story.scenario);
    const { played, breaks } = replay(scenario, story);
    expect(breaks).toBe(story.breaks);
    const steps = played.slice(1).map(({ says }) => says);
    const recovery = breaks === 'recovery' ? recoveryOf(scenario, played) : [];
    expect([...steps, ...recovery]).toEqual(story.says);
  });

  it('ends with the world that it describes', async () => {
    onTestFinished(shortenPatience());
    const story = await storyOf('says-off-for-long');
    const world = replay(scenarioNamed(story.scenario), story).played.at(-1)?.world;
    expect(world).toMatchObject({ machine: { power: 'running', writes: true }, disk: 'free' });
  });

  // A run that read `stopping` lifted the mark that another run had set since, and the Node stayed in quarantine.
  it('of a machine that is deleted while another run looks ends without its Node', async () => {
    onTestFinished(shortenPatience());
    const story = await storyOf('gone-while-another-run-looked');
    const world = replay(scenarioNamed(story.scenario), story).played.at(-1)?.world;
    expect(world).toMatchObject({ node: null, attachment: 'gone', disk: 'free' });
  });

  // The silence of the kubelet counted from the request for its Lease, although the answer showed a later renewal.
  it('of a kubelet that renews its Lease while the run reads it ends without a mark', async () => {
    onTestFinished(shortenPatience());
    const story = await storyOf('silent-since-the-question');
    const world = replay(scenarioNamed(story.scenario), story).played.at(-1)?.world;
    expect(world).toMatchObject({ connected: true, lease: { age: 0 }, node: { taints: [] } });
  });

  // The tombstone was for the new boot, so the next stop would not have been fenced.
  it('of a release by a person while the machine starts leaves nothing on its Node', async () => {
    onTestFinished(shortenPatience());
    const story = await storyOf('accepted-while-it-starts');
    const node = replay(scenarioNamed(story.scenario), story).played.at(-1)?.world.node;
    expect(node).toMatchObject({ boot: 2, taints: [], labels: FOREIGN, annotations: FOREIGN });
  });

  it('cannot be played if a step cannot happen, and the error lists what can', async () => {
    onTestFinished(shortenPatience());
    const { scenario, says } = await storyOf('says-off-for-long');
    const [first = ''] = says;
    expect(() => replay(scenarioNamed(scenario), { says: [first, 'the moon rises'] })).toThrow(
      '"the moon rises" cannot happen. What can: the machine is off;',
    );
  });
});

describe('a printed story', () => {
  it('describes the world in words', () => {
    const world = healthy({});
    expect(worldInWords(world)).toBe(
      'machine running (boot 1), its database writes | Node of boot 1 Ready | pod bound | ' +
        'VolumeAttachment attached | disk attached to this machine',
    );
    const machine = { ...world.machine, power: 'gone', writes: false } as const;
    const moved = { ...world, machine, node: null, pod: 'gone', attachment: 'gone', disk: 'there' } as const;
    expect(worldInWords(moved)).toBe(
      'machine terminated | no Node | no pod | no VolumeAttachment | ' +
        'disk attached to another machine, whose database writes',
    );
  });

  it('says what a second stands for, and which IDs its short names stand for', () => {
    const clock = 'One second here stands for one step of the clock. The waits of the protocol are shortened.';
    expect(headOf({ cloud: azureManaged })).toEqual([
      clock,
      `Machine node-a: ${azureManaged.machine}`,
      `Disk data: ${azureManaged.disk}`,
    ]);
    expect(headOf({ cloud: ec2 })).toEqual([clock]);
  });
});
