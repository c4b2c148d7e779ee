import type { Testbed } from '../../testbed/testbed-at.ts';
import type { TestbedNode } from '../../testbed/machines.ts';
import { node as nodeSchema } from '../../testbed/objects.ts';
import type { Scene } from '../scenes/scene.ts';
import { openScene } from '../scenes/scene.ts';
import { until } from '../../testbed/until.ts';
import { volumeName } from '../scenes/volume.ts';
import { statefulSet } from '../scenes/workload.ts';

/** A database with one replica on one volume, on a machine that will crash, and a node to move to. */
export interface Crash {
  readonly scene: Scene;
  readonly home: TestbedNode;
  readonly refuge: TestbedNode;
  readonly disk: string;
  /** Name of the PersistentVolume. */
  readonly volume: string;
  /** Uid of the pod. */
  readonly former: string;
}

const CLAIM = 'data-db-0';
const POD = 'db-0';

/** New Nodes have a taint until the controllers have seen that they are ready. */
const takesPods = ({ testbed: { admin } }: Scene, { name }: TestbedNode): Promise<boolean> =>
  until(
    `${name} takes pods`,
    async () => nodeSchema.parse(await admin.get(`/api/v1/nodes/${name}`)).spec.taints.length === 0,
  );

export const setUpCrash = async (testbed: Testbed): Promise<Crash> => {
  const scene = await openScene(testbed, 'crash');
  const [home, disk] = await Promise.all([scene.addNode(), scene.addClaim(CLAIM)]);
  await scene.create(statefulSet('db'));
  const { metadata } = await scene.runs(POD, home);
  const refuge = await scene.addNode();
  await takesPods(scene, refuge);
  return { scene, home, refuge, disk, volume: volumeName(scene.namespace, CLAIM), former: metadata.uid };
};

/** Leaves nothing behind that could affect the next crash: neither pods nor Nodes. */
export const clearAway = async ({ scene: { testbed, namespace, nodes, pods } }: Crash): Promise<void> => {
  const { admin } = testbed;
  await admin.write('DELETE', `/api/v1/namespaces/${namespace}`);
  for (const { metadata } of pods())
    await admin.call('DELETE', `/api/v1/namespaces/${namespace}/pods/${metadata.name}`, { gracePeriodSeconds: 0 });
  await until(`no pod is left in ${namespace}`, async () => pods().length === 0);
  for (const { name, kubelet } of nodes) {
    kubelet.die();
    await admin.call('DELETE', `/api/v1/nodes/${name}`);
  }
};
