import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OwnTestbed } from '../../testbed/testbed.ts';
import { openOwnTestbed } from '../../testbed/testbed.ts';
import { cloudfence, sweepDeployed } from '../entry-points/programs.ts';
import { inOneBatch, stateChanges } from '../entry-points/events.ts';
import type { TestbedAccess } from '../../testbed/installation.ts';
import { under } from '../../testbed/installation.ts';
import { turn } from '../../testbed/knobs.ts';
import type { TestbedNode } from '../../testbed/machines.ts';
import { lease, node } from '../../testbed/objects.ts';
import { openQueue } from '../entry-points/queue.ts';
import type { Scene } from '../scenes/scene.ts';
import { openScene } from '../scenes/scene.ts';
import { expectMoved, expectUntouched, openStage } from '../scenes/stage.ts';
import { until } from '../../testbed/until.ts';
import { statefulSet } from '../scenes/workload.ts';
import { PARKED, worldOf } from '../scenes/world.ts';

/** On its own control plane: the cap is one fence at a time here, and all fences of a cluster count. */
let testbed: OwnTestbed;
let access: TestbedAccess;
beforeAll(async () => {
  testbed = await openOwnTestbed();
  access = await under(testbed.access, { cap: { share: 1, atOnce: 0 } });
});
afterAll(() => testbed?.close());

/**
 * Long enough for all runs to have looked while the first fence is unfinished, and well within the time of a run of a
 * sweep.
 */
const SLOW_DETACH = { delayMs: 6_000 };
const STALE_MS = 61_000;

describe('two machines that die at once', () => {
  it('are fenced one after the other: the second is refused, and nothing of it changes', async () => {
    const stages = await Promise.all([openStage(testbed, 'first'), openStage(testbed, 'second')]);
    await Promise.all(stages.map(({ disk }) => turn(access, disk, SLOW_DETACH)));
    await Promise.all(stages.map(({ home }) => home.stop()));
    const answers = await Promise.all(
      stages.map(async (stage) => ({ stage, ...(await cloudfence(access, 'fence', stage.home.instance)) })),
    );
    const [ahead, ...others] = answers.filter(({ says }) => says.outcome === 'fenced');
    const behind = answers.find(({ says }) => says.outcome === 'refused');
    if (!ahead || !behind)
      throw new Error(`one is fenced and one refused: ${answers.map(({ says }) => says.outcome).join(', ')}`);
    expect(others).toEqual([]);
    expect(behind.says.reason).toMatch(/^cap-reached: unfinished fences: 1 of at most 1 \(0 % of \d+\)/);
    await expectMoved(ahead.stage, { fenced: [ahead.stage.home] });
    await expectUntouched(behind.stage);
    await turn(access, behind.stage.disk, {});
    expect((await cloudfence(access, 'fence', behind.stage.home.instance)).says.outcome).toBe('fenced');
    await expectMoved(behind.stage, { fenced: [behind.stage.home] });
  });
});

const NAMES = ['a', 'b', 'c'] as const;
const claimOf = (name: string): string => `data-${name}-0`;

/** A zone with one database on each node. */
const openZone = async (): Promise<Scene> => {
  const scene = await openScene(testbed, 'zone');
  for (const name of NAMES) {
    const home = await scene.addNode();
    await scene.addClaim(claimOf(name));
    await scene.create(statefulSet(name));
    await scene.runs(`${name}-0`, home);
    await testbed.admin.write('PATCH', `/api/v1/nodes/${home.name}`, { spec: { unschedulable: true } });
  }
  return scene;
};

const untilStale = ({ name }: TestbedNode) =>
  until(
    `the Lease of ${name} is stale`,
    async () => {
      const { spec } = lease.parse(
        await testbed.admin.get(`/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`),
      );
      return Date.now() - Date.parse(spec.renewTime) > STALE_MS;
    },
    90_000,
  );

const begunAt = async ({ name }: TestbedNode): Promise<number> => {
  const { metadata } = node.parse(await testbed.admin.get(`/api/v1/nodes/${name}`));
  return Date.parse(JSON.parse(metadata.annotations['cloudfence.dev/fence'] ?? '{}').begun);
};

describe('a zone that dies, with all events lost', () => {
  it('is swept one machine at a time, the others are refused, and the queue finishes each', async () => {
    const scene = await openZone();
    const disks = [...scene.disks.values()];
    await Promise.all(disks.map((disk) => turn(access, disk, SLOW_DETACH)));
    await Promise.all(scene.nodes.map(({ stop }) => stop()));
    await Promise.all(scene.nodes.map(untilStale));
    const results = await sweepDeployed(access);
    const outcomeOf = ({ instance }: TestbedNode) => results.find((result) => result.instance === instance);
    const [first, ...none] = scene.nodes.filter((home) => outcomeOf(home)?.outcome === 'fenced');
    if (!first) throw new Error(`none was fenced: ${results.map(({ reason }) => reason).join('; ')}`);
    expect(none).toEqual([]);
    const refused = scene.nodes.filter((home) => home !== first);
    for (const home of refused)
      expect(outcomeOf(home)).toMatchObject({
        outcome: 'refused',
        reason: expect.stringMatching(/^cap-reached: unfinished fences: 1 of at most 1/),
      });
    const { ours } = await worldOf(scene);
    expect(ours).toEqual({ [first.name]: PARKED, ...Object.fromEntries(refused.map(({ name }) => [name, []])) });
    const queue = await openQueue(access);
    await Promise.all(disks.map((disk) => turn(access, disk, {})));
    await queue.drain(inOneBatch(scene.nodes.map(({ instance }) => stateChanges(instance, ['stopped'], access.ec2))));
    queue.close();
    const world = await worldOf(scene);
    expect(world.ours).toEqual(Object.fromEntries(scene.nodes.map(({ name }) => [name, PARKED])));
    expect(world.volumes).toEqual(
      Object.fromEntries(NAMES.map((name) => [claimOf(name), { ec2: [], kubernetes: [] }])),
    );
    expect(new Set(await Promise.all(scene.nodes.map(begunAt))).size).toBe(scene.nodes.length);
  });
});
