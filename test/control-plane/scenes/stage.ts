import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import type { TestbedNode } from '../../testbed/machines.ts';
import type { Scene } from './scene.ts';
import { openScene } from './scene.ts';
import { statefulSet } from './workload.ts';
import { until } from '../../testbed/until.ts';
import type { World } from './world.ts';
import { podsOn, worldOf, worldWith } from './world.ts';

/** A database with one replica on a machine to which something will happen, and a second node to move to. */
export interface Stage {
  readonly scene: Scene;
  readonly home: TestbedNode;
  readonly refuge: TestbedNode;
  readonly disk: string;
  /** Uid of its pod before anything happens. */
  readonly former: string;
  /** The pods of both nodes before anything happens, in words. */
  readonly pods: readonly string[];
}

const CLAIM = 'data-db-0';
const POD = 'db-0';

export const openStage = async (testbed: Testbed, title: string): Promise<Stage> => {
  const scene = await openScene(testbed, title);
  const [home, disk] = await Promise.all([scene.addNode(), scene.addClaim(CLAIM)]);
  await scene.create(statefulSet('db'));
  const { metadata } = await scene.runs(POD, home);
  const refuge = await scene.addNode();
  return { scene, home, refuge, disk, former: metadata.uid, pods: podsOn(scene, [home, refuge]) };
};

/** The same pods on the same nodes, the disk in its place, and nothing of Cloudfence anywhere. */
export const expectUntouched = async ({ scene, home, refuge, pods }: Stage): Promise<void> => {
  expect(podsOn(scene, [home, refuge])).toEqual(pods);
  expect(await worldOf(scene)).toEqual(worldWith(scene, { [CLAIM]: home }, []));
};

/** The expected ends of the nodes: fenced, gone, and unchanged for all others. */
export interface ExpectedNodes {
  readonly fenced?: readonly TestbedNode[];
  readonly gone?: readonly TestbedNode[];
}

const SETTLES_WITHIN_MS = 30_000;

/** Returns the world once it is as expected, or its last state when the time is up. */
const settled = async (scene: Scene, wanted: World): Promise<World> => {
  const deadline = performance.now() + SETTLES_WITHIN_MS;
  return until('the world settles', async () => {
    const world = await worldOf(scene);
    return isDeepStrictEqual(world, wanted) || performance.now() > deadline ? world : null;
  });
};

/**
 * Another pod runs on the refuge, its disk is attached only there, and nothing of Cloudfence is left except on fenced
 * nodes.
 */
export const expectMoved = async (
  { scene, refuge, former }: Stage,
  { fenced = [], gone = [] }: ExpectedNodes,
): Promise<void> => {
  const { metadata } = await scene.runs(POD, refuge);
  expect(metadata.uid).not.toBe(former);
  const world = worldWith(scene, { [CLAIM]: refuge }, fenced);
  const ours = { ...world.ours, ...Object.fromEntries(gone.map(({ name }) => [name, ['the Node is gone']])) };
  expect(await settled(scene, { ...world, ours })).toEqual({ ...world, ours });
};
