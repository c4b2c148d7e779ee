import { addDeployment, addStatefulSet } from '../../sandbox/cluster/fixtures.ts';
import { listObjects } from '../../sandbox/cluster/get-objects.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { isFinished } from '../../sandbox/cluster/controllers/pods.ts';
import { openSandbox } from './clouds.ts';
import type { CloudSandbox } from './cloud-sandbox.ts';

/** A Node with this many pods, of which this many have their own volume. */
export interface Load {
  readonly pods: number;
  readonly volumes: number;
}

/** Two machines that have just stopped: one with the load, and one to warm up with. */
export interface FullNode {
  readonly sandbox: CloudSandbox;
  readonly machine: string;
  readonly node: string;
  readonly other: string;
  /** How many pods and volumes of the load are still on the Node, and how many volumes are attached elsewhere. */
  readonly left: () => Load;
  readonly elsewhere: () => number;
}

const SPARES = 10;
export const UNTIL_OFF_MS = 40_000;

/**
 * The load consists of databases with one disk each, and pods without any. It is placed while its Node is the only one,
 * and the other Nodes come later. So the pods may go anywhere afterwards, and only the order of the machines decides
 * where they are placed. `beforeStop` may let more time pass.
 */
export const fullNode = async (
  cloud: string,
  { pods, volumes }: Load,
  now: number,
  beforeStop: (world: CloudSandbox['world']) => void = () => undefined,
): Promise<FullNode> => {
  const sandbox = await openSandbox(cloud, { seed: 1, now });
  const { world } = sandbox;
  const machine = sandbox.addMachine();
  for (let nth = 0; nth < volumes; nth += 1) addStatefulSet(world, { name: `db-${nth}`, disks: [sandbox.addDisk()] });
  if (pods > volumes) addDeployment(world, { name: 'web', replicas: pods - volumes });
  settle(world);
  const other = sandbox.addMachine();
  const nodeSelector = { 'kubernetes.io/hostname': sandbox.nodeOf(other) };
  addStatefulSet(world, { name: 'other', disks: [sandbox.addDisk()], spec: { nodeSelector } });
  settle(world);
  for (let spare = 0; spare < SPARES; spare += 1) sandbox.addMachine();
  settle(world);
  beforeStop(world);
  for (const one of [machine, other]) sandbox.stop(one);
  world.advance(UNTIL_OFF_MS);
  const node = sandbox.nodeOf(machine);
  const left = (): Load => ({
    pods: listObjects(world, 'pods').filter((pod) => pod.spec.nodeName === node && !isFinished(pod)).length,
    volumes: listObjects(world, 'volumeattachments').filter(({ spec }) => spec.nodeName === node).length,
  });
  const isOfTheLoad = (volume = ''): boolean => volume.includes('data-db-');
  const elsewhere = (): number =>
    listObjects(world, 'volumeattachments').filter(
      ({ spec, status }) => spec.nodeName !== node && isOfTheLoad(spec.source.persistentVolumeName) && status?.attached,
    ).length;
  return { sandbox, machine, node, other, left, elsewhere };
};
