import type { NodeObject } from '../objects.ts';
import { writerAs } from './object-writer.ts';
import { listObjects } from '../get-objects.ts';
import type { CloudView } from './cloud-view.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { isReady } from './nodes.ts';
import { addTaint, dropTaint, hasTaint, shutDown } from './taints.ts';
import { microTime, timestamp } from './times.ts';

const every = 5_000;

const writer = (world: ClusterWorld) => writerAs(world, 'cloud-node-lifecycle-controller');

/** The node lifecycle controller of the cloud controller manager, which checks Nodes that are not Ready. */
export const askCloud = (cloudView: CloudView, world: ClusterWorld): void => {
  world.schedule('cloud-controller', every);
  if (!world.parts.cluster.knobs.cloudController) return;
  for (const node of listObjects(world, 'nodes')) askAbout(cloudView, world, node);
};

const askAbout = (cloudView: CloudView, world: ClusterWorld, node: NodeObject): void => {
  if (isReady(node)) {
    if (hasTaint(node, shutDown)) writer(world).change('nodes', node, (draft) => dropTaint(draft, shutDown));
    return;
  }
  const machine = machineOf(world, node);
  const existence = machine === undefined ? 'exists' : cloudView.existence(machine);
  if (existence === 'gone') return removeNode(world, node);
  if (existence === 'exists' || hasTaint(node, shutDown)) return;
  const taint = { key: shutDown, effect: 'NoSchedule', timeAdded: timestamp(world.now()) } as const;
  writer(world).change('nodes', node, (draft) => addTaint(draft, taint));
};

const machineOf = (world: ClusterWorld, node: NodeObject): string | undefined =>
  Object.values(world.parts.cluster.memory.kubelets).find(
    ({ describes }) => describes.providerID === node.spec.providerID,
  )?.describes.machine;

const removeNode = (world: ClusterWorld, node: NodeObject): void => {
  const { name, uid } = node.metadata;
  writer(world).create('events', {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `${name}.${uid.slice(-12)}.deleting`, namespace: 'default' },
    eventTime: microTime(world.now()),
    reportingController: 'cloud-node-lifecycle-controller',
    reportingInstance: 'cloud-node-lifecycle-controller',
    action: 'DeletingNode',
    reason: 'DeletingNode',
    type: 'Normal',
    note: `Deleting node ${name} because it does not exist in the cloud provider`,
    regarding: { kind: 'Node', name, uid },
  });
  writer(world).remove('nodes', node);
};
