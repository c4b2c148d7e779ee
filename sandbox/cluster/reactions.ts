import { noticeAttachment } from './controllers/attacher-queue.ts';
import { updateEvictionsOn, updateEviction, cancelEviction } from './controllers/eviction-notices.ts';
import type { ClusterWorld } from './cluster-world.ts';
import { between } from './controllers/times.ts';
import type { KubeObject, NodeObject, PodObject, Resource, Resources } from './objects.ts';
import { keyOf } from './store.ts';

/** How long a watch event takes to reach its controller (ms). */
const watchTakes = 10;
const attachDetachLoop = 100;

type Reactions = { readonly [R in Resource]: (world: ClusterWorld, object: Resources[R], stands: boolean) => void };

/** Wakes the controllers that watch an object. Call it after each accepted write, with the object as written. */
export const reactionsOf =
  (world: ClusterWorld) =>
  <R extends Resource>(resource: R, object: Resources[R]): void => {
    const standing = world.parts.cluster.objects[resource][keyOf(object.metadata)];
    reactions[resource](world, object, standing?.metadata.uid === object.metadata.uid);
  };

const podWritten = (world: ClusterWorld, pod: PodObject, stands: boolean): void => {
  if (stands) updateEviction(world, pod);
  else cancelEviction(world, pod);
  for (const owner of pod.metadata.ownerReferences ?? [])
    wakeOwner(world, owner.kind, keyOf({ ...pod.metadata, name: owner.name }));
  if (pod.spec.nodeName) wakeKubelets(world, pod.spec.nodeName);
  else if (stands) world.schedule('scheduler', watchTakes);
  wakeAttachDetach(world);
};

const nodeWritten = (world: ClusterWorld, node: NodeObject, stands: boolean): void => {
  if (stands) nodeStands(world, node);
  else world.schedule('garbage-collector', watchTakes);
  wakeKubelets(world, node.metadata.name);
  world.schedule('scheduler', watchTakes);
  for (const key of Object.keys(world.parts.cluster.objects.daemonsets)) wakeOwner(world, 'DaemonSet', key);
  wakeAttachDetach(world);
};

const nodeStands = (world: ClusterWorld, node: NodeObject): void => {
  updateEvictionsOn(world, node);
  world.schedule('node-lifecycle/condition', watchTakes, node.metadata.name);
};

const wakeOwner = (world: ClusterWorld, kind: string, key: string): void => {
  const actor = { StatefulSet: 'statefulset', Deployment: 'deployment', DaemonSet: 'daemonset', Job: 'job' }[kind];
  if (actor) world.schedule(actor, between(world, 10, 20), key);
};

const wakeKubelets = (world: ClusterWorld, node: string): void => {
  for (const [machine, { describes }] of Object.entries(world.parts.cluster.memory.kubelets)) {
    if (describes.name === node) world.schedule('kubelet/pods', watchTakes, machine);
  }
};

const wakeAttachDetach = (world: ClusterWorld): void =>
  world.schedule('attach-detach', attachDetachLoop - (world.now() % attachDetachLoop));

const volumeWritten = (world: ClusterWorld): void => {
  world.schedule('scheduler', watchTakes);
  wakeAttachDetach(world);
};

const onWorkloadWritten = (world: ClusterWorld, workload: KubeObject): void =>
  wakeOwner(world, workload.kind, keyOf(workload.metadata));

const nothing = (): void => undefined;

const reactions: Reactions = {
  pods: podWritten,
  nodes: nodeWritten,
  volumeattachments: (world, attachment, stands) => {
    noticeAttachment(world, attachment, stands);
    wakeAttachDetach(world);
  },
  persistentvolumes: volumeWritten,
  persistentvolumeclaims: (world) => {
    world.schedule('provisioner', watchTakes);
    volumeWritten(world);
  },
  statefulsets: onWorkloadWritten,
  deployments: onWorkloadWritten,
  daemonsets: onWorkloadWritten,
  jobs: onWorkloadWritten,
  replicasets: nothing,
  csinodes: nothing,
  csidrivers: nothing,
  leases: nothing,
  events: nothing,
  storageclasses: nothing,
  configmaps: nothing,
};
