import type { Testbed } from '../../testbed/testbed.ts';
import type { TestbedNode } from '../../testbed/machines.ts';
import type { Node, Pod } from '../../testbed/objects.ts';
import { listOf, node as nodeSchema, volumeAttachment } from '../../testbed/objects.ts';
import { openScene } from './scene.ts';
import { until } from '../../testbed/until.ts';
import { volumeName } from './volume.ts';
import { statefulSet } from './workload.ts';

/** A database with one replica on one EBS volume, and a second node to move to. */
export interface Database {
  readonly disk: string;
  /** Where it runs, and where it may move. */
  readonly home: TestbedNode;
  readonly refuge: TestbedNode;
  readonly namespace: string;
  readonly pod: () => Pod | undefined;
  /** Resolves once its pod runs on that node. */
  readonly runsOn: (node: TestbedNode) => Promise<Pod>;
  /** Resolves once its volume is attached to that node and to no other. */
  readonly movedTo: (node: TestbedNode) => Promise<void>;
  /** Names of the nodes to which its volume is attached, according to Kubernetes. */
  readonly attachedTo: () => Promise<readonly string[]>;
  readonly readNode: (node: TestbedNode) => Promise<Node>;
}

const CLAIM = 'data-db-0';
const POD = 'db-0';

/** Prepares the scene, and resolves once the database runs. */
export const addDatabase = async (testbed: Testbed): Promise<Database> => {
  const { admin, kubelets } = testbed;
  const { namespace, addNode, addClaim, create, runs } = await openScene(testbed, 'db');
  const [home, disk] = await Promise.all([addNode(), addClaim(CLAIM)]);
  await create(statefulSet('db'));
  await runs(POD, home);
  const refuge = await addNode();
  const attachedTo = async (): Promise<readonly string[]> => {
    const { items } = listOf(volumeAttachment).parse(await admin.get('/apis/storage.k8s.io/v1/volumeattachments'));
    return items
      .filter(
        ({ spec, status }) => spec.source.persistentVolumeName === volumeName(namespace, CLAIM) && status.attached,
      )
      .map(({ spec }) => spec.nodeName);
  };
  return {
    disk,
    home,
    refuge,
    namespace,
    pod: () => kubelets.pods.get(`${namespace}/${POD}`),
    runsOn: (where) => runs(POD, where),
    attachedTo,
    movedTo: async ({ name }) =>
      void (await until(`the volume is attached to ${name}`, async () => (await attachedTo()).join() === name)),
    readNode: async ({ name }) => nodeSchema.parse(await admin.get(`/api/v1/nodes/${name}`)),
  };
};
