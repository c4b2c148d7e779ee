import { describe, expect, it } from 'vitest';
import { stepProperties } from '../../fencing/model/steps.ts';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { listObjects } from '../../sandbox/cluster/get-objects.ts';
import type { DatabaseScene } from '../../sandbox/scenes/ec2-database.ts';
import { AFTERMATH_MS, incidents } from './ends.ts';
import { attacherDown, crowded, nodeGone, startMachine, stopped, stopMachine, terminated } from './incidents.ts';
import { freshRun, portsOver } from './ports.ts';
import { stateOf } from './state.ts';
import { someOf } from '../thorough.ts';
import { stepOn, thaw, walk, type CommandMoment } from './walk.ts';

/**
 * A run is frozen between any two of its calls. The world continues without it, and the run continues later with what
 * it knew.
 */

const HOURS = 3_600_000;
const LONG = 24 * HOURS;

const walked = async (happen: () => Promise<{ world: AwsWorld; scene: DatabaseScene }>, lasts = LONG) => {
  const { world, scene } = await happen();
  const walking = await walk(world, freshRun(world, portsOver(world), { machine: scene.holder, lasts }));
  return { world, scene, ...walking };
};

describe.each(incidents.filter(([, , right]) => right === 'fenced'))('a machine %s', (_, happen) => {
  it('reaches a safe end if the run is frozen for an hour', async () => {
    const { crossings, scene } = await walked(async () => happen());
    for (const { known, command, world } of someOf(crossings)) {
      const frozen = world.fork();
      frozen.advance(HOURS);
      await thaw(known, frozen);
      frozen.advance(AFTERMATH_MS);
      const { disks, violations } = stateOf(frozen);
      expect(disks, `frozen before ${command.do}`).toContain(`${scene.volume} at ${scene.spare} attached`);
      expect(violations).toEqual([]);
    }
  });
});

/** What runs on the node once its machine is up again. Nothing may touch it any more. */
const livingOn = (world: AwsWorld, node: string): readonly string[] =>
  listObjects(world, 'pods')
    .filter((pod) => pod.spec.nodeName === node && pod.status.phase === 'Running' && !pod.metadata.deletionTimestamp)
    .map((pod) => pod.metadata.uid);

const BOOTS_WITHIN_MS = 120_000;

const restartedMeanwhile = async (
  { known, world }: CommandMoment,
  scene: DatabaseScene,
  between: (world: AwsWorld) => void,
) => {
  const frozen = world.fork();
  frozen.advance(10_000);
  between(frozen);
  const before = livingOn(frozen, scene.nodeOf(scene.holder));
  const thawedAt = frozen.now();
  await thaw({ ...known, deadline: frozen.now() + 60_000 }, frozen);
  const deleted = frozen.parts.cluster.audit.filter(
    (entry) => entry.at >= thawedAt && entry.user === 'kubernetes-admin' && entry.verb === 'delete',
  );
  frozen.advance(AFTERMATH_MS);
  return { frozen, before, after: livingOn(frozen, scene.nodeOf(scene.holder)), deleted };
};

describe.each([
  ['stopped', stopped],
  ['stopped, whose Node is gone', nodeGone],
  ['stopped under pods of every kind', crowded],
])('a machine %s', (_, happen) => {
  it('is not touched by a frozen run that continues after the machine was started', async () => {
    const { crossings, scene } = await walked(async () => happen());
    for (const crossing of someOf(crossings)) {
      const { frozen, before, after, deleted } = await restartedMeanwhile(crossing, scene, (world) => {
        startMachine(world, scene.holder);
        world.advance(BOOTS_WITHIN_MS);
      });
      const when = `frozen before ${crossing.command.do}`;
      expect(frozen.parts.ec2.violations, when).toEqual([]);
      expect(deleted, when).toEqual([]);
      expect(after, when).toEqual(expect.arrayContaining([...before]));
    }
  });

  it('is not touched by such a run while the machine is still booting', async () => {
    const { crossings, scene } = await walked(async () => happen());
    for (const crossing of someOf(crossings)) {
      const { frozen, deleted } = await restartedMeanwhile(crossing, scene, (world) => {
        startMachine(world, scene.holder);
        world.advance(1_000);
      });
      expect(deleted, `frozen before ${crossing.command.do}`).toEqual([]);
      expect(frozen.parts.ec2.violations).toEqual([]);
    }
  });
});

it.each([
  ['stopped', stopped],
  ['terminated', terminated],
  ['stopped under pods of every kind', crowded],
  ['stopped while the CSI attacher is down', attacherDown],
])(
  'a call about a machine %s that was about to be sent when the process froze is not sent afterwards',
  async (_, happen) => {
    const { crossings } = await walked(async () => happen(), 20_000);
    const destructive = crossings.filter(
      ({ command }) => command.do === 'act' && stepProperties[command.step.do].destructive,
    );
    expect(destructive.length).toBeGreaterThan(1);
    for (const { known, command, world } of destructive) {
      const frozen = world.fork();
      frozen.advance(2_500);
      const { audit } = frozen.parts.cluster;
      const writes = () => audit.filter(({ user }) => user === 'kubernetes-admin').length + frozen.parts.ec2.serial;
      const before = writes();
      const after = await stepOn(known, command, portsOver(frozen));
      expect(writes()).toBe(before);
      expect(after.steps).toEqual(known.steps);
    }
  },
);

it('a machine that was restarted and stopped while the run was frozen is fenced with a new record', async () => {
  const { crossings, scene } = await walked(async () => stopped());
  for (const { known, command, world } of someOf(crossings)) {
    const frozen = world.fork();
    startMachine(frozen, scene.holder);
    frozen.advance(BOOTS_WITHIN_MS);
    stopMachine(frozen, scene.holder);
    frozen.advance(60_000);
    await thaw({ ...known, deadline: frozen.now() + HOURS }, frozen);
    frozen.advance(AFTERMATH_MS);
    const { disks, violations } = stateOf(frozen);
    expect(disks, `frozen before ${command.do}`).toContain(`${scene.volume} at ${scene.spare} attached`);
    expect(violations).toEqual([]);
  }
});
