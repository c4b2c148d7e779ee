import { addStatefulSet } from '../../sandbox/cluster/fixtures.ts';
import { listObjects } from '../../sandbox/cluster/get-objects.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { isFinished } from '../../sandbox/cluster/controllers/pods.ts';
import { openStage } from './clouds.ts';
import type { CloudStage } from './stage.ts';

/** A Node with this many pods, of which so many have a volume of their own. */
export interface Load {
  readonly pods: number;
  readonly volumes: number;
}

/** Two machines that have just stopped: one with the load, and one to warm up with. */
export interface FullNode {
  readonly stage: CloudStage;
  readonly machine: string;
  readonly node: string;
  readonly other: string;
  /** How many of the load's pods and volumes are still on the Node. */
  readonly left: () => Load;
}

const SPARES = 10;
const UNTIL_OFF_MS = 40_000;

/**
 * The load is placed while its Node is the only one, and the others come after it. So the pods may go anywhere
 * afterwards, and nothing but the order of the machines places them.
 */
export const fullNode = async (cloud: string, { pods, volumes }: Load, now: number): Promise<FullNode> => {
  const stage = await openStage(cloud, { seed: 1, now });
  const { world } = stage;
  const machine = stage.addMachine();
  const disks = Array.from({ length: volumes }, stage.addDisk);
  addStatefulSet(world, { name: 'db', disks });
  if (pods > volumes) addStatefulSet(world, { name: 'web', replicas: pods - volumes });
  settle(world);
  const other = stage.addMachine();
  const nodeSelector = { 'kubernetes.io/hostname': stage.nodeOf(other) };
  addStatefulSet(world, { name: 'other', disks: [stage.addDisk()], spec: { nodeSelector } });
  settle(world);
  for (let spare = 0; spare < SPARES; spare += 1) stage.addMachine();
  settle(world);
  for (const one of [machine, other]) stage.stop(one);
  world.advance(UNTIL_OFF_MS);
  const node = stage.nodeOf(machine);
  const left = (): Load => ({
    pods: listObjects(world, 'pods').filter((pod) => pod.spec.nodeName === node && !isFinished(pod)).length,
    volumes: listObjects(world, 'volumeattachments').filter(({ spec }) => spec.nodeName === node).length,
  });
  return { stage, machine, node, other, left };
};
