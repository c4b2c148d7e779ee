import { listObjects } from './get-objects.ts';
import type { ClusterWorld } from './cluster-world.ts';
import { isReady } from './controllers/nodes.ts';
import { isFinished, isReadyPod } from './controllers/pods.ts';
import type { WorkloadObject } from './objects.ts';

const step = 500;
const LIMIT_MS = 600_000;

/**
 * Advances time until every kubelet's Node is Ready and every pod of every workload runs. Throws if that takes more
 * than ten minutes.
 */
export const settle = (world: ClusterWorld): void => {
  const until = world.now() + LIMIT_MS;
  while (!settled(world)) {
    if (world.now() >= until) throw new Error('the cluster did not settle within ten minutes');
    world.advance(step);
  }
};

const settled = (world: ClusterWorld): boolean => {
  const nodes = listObjects(world, 'nodes');
  const living = listObjects(world, 'pods').filter((pod) => !isFinished(pod));
  return (
    nodes.length > 0 &&
    nodes.length >= kubelets(world) &&
    nodes.every(isReady) &&
    living.every(isReadyPod) &&
    staffed(world, nodes.length)
  );
};

/** Returns whether every workload has its pods, and a DaemonSet has one on each node. */
const staffed = (world: ClusterWorld, nodes: number): boolean =>
  listObjects(world, 'daemonsets').every((set) => podsOf(world, set) >= nodes) &&
  counted(world).every((workload) => podsOf(world, workload) >= workload.spec.replicas);

const kubelets = (world: ClusterWorld): number =>
  new Set(Object.values(world.parts.cluster.memory.kubelets).map(({ describes }) => describes.name)).size;

const counted = (world: ClusterWorld): readonly WorkloadObject[] => [
  ...listObjects(world, 'statefulsets'),
  ...listObjects(world, 'deployments'),
  ...listObjects(world, 'jobs'),
];

const podsOf = (world: ClusterWorld, workload: WorkloadObject): number =>
  listObjects(world, 'pods').filter((pod) =>
    pod.metadata.ownerReferences?.some((owner) => owner.uid === workload.metadata.uid),
  ).length;
