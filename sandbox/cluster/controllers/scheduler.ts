import type { NodeObject, PodObject } from '../objects.ts';
import { writerAs } from './object-writer.ts';
import { listObjects } from '../get-objects.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { isActive } from './pods.ts';
import { selectNodeForClaims } from './provisioner.ts';
import { untolerated } from './taints.ts';
import type { AttachableVolume } from './volumes.ts';
import { podsOn, volumesOfPod, zoneLabel } from './volumes.ts';

/** Binds each pending pod to the suitable node with the fewest pods. Between equal nodes, the name decides. */
export const schedulePods = (world: ClusterWorld): void => {
  for (const pod of listObjects(world, 'pods')) if (!pod.spec.nodeName && isActive(pod)) bind(world, pod);
};

const bind = (world: ClusterWorld, pod: PodObject): void => {
  const volumes = volumesOfPod(world, pod);
  const fitting = listObjects(world, 'nodes').filter((node) => fits(node, pod, volumes === 'unbound' ? [] : volumes));
  const [best] = fitting.toSorted(
    (a, b) =>
      preference(pod, b) - preference(pod, a) ||
      load(world, a) - load(world, b) ||
      a.metadata.name.localeCompare(b.metadata.name),
  );
  if (best && volumes === 'unbound') selectNodeForClaims(world, pod, best.metadata.name);
  else if (best)
    writerAs(world, 'kube-scheduler').change('pods', pod, (draft) => void (draft.spec.nodeName = best.metadata.name));
};

/** Returns the weight of the pod's preferences that the node meets. */
const preference = ({ spec: { affinity } }: PodObject, { metadata: { labels = {} } }: NodeObject): number =>
  (affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [])
    .filter(({ preference: wanted }) =>
      (wanted.matchExpressions ?? []).every(({ key, values = [] }) => values.includes(labels[key] ?? '')),
    )
    .reduce((sum, { weight }) => sum + weight, 0);

const load = (world: ClusterWorld, node: NodeObject): number =>
  podsOn(world, node.metadata.name).filter(isActive).length;

const fits = (node: NodeObject, pod: PodObject, volumes: readonly AttachableVolume[]): boolean => {
  const labels = node.metadata.labels ?? {};
  const barring = (node.spec.taints ?? []).filter((taint) => taint.effect !== 'PreferNoSchedule');
  return (
    node.metadata.deletionTimestamp === undefined &&
    !node.spec.unschedulable &&
    untolerated(pod.spec.tolerations, barring).length === 0 &&
    Object.entries(pod.spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value) &&
    volumes.every(({ zone }) => zone === null || zone === labels[zoneLabel])
  );
};
