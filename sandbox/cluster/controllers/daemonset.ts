import type { NodeObject, PodSpec, Toleration, WorkloadObject } from '../objects.ts';
import { writerAs } from './object-writer.ts';
import { listObjects } from '../get-objects.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { isFinished, ownedBy, podOf, randomSuffix } from './pods.ts';
import { notReady, unreachable, untolerated } from './taints.ts';
import { podsOn } from './volumes.ts';

/** The tolerations that the controller adds to each of its pods. They do not include the out-of-service taint. */
const added: readonly Toleration[] = [
  { key: notReady, operator: 'Exists', effect: 'NoExecute' },
  { key: unreachable, operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/pid-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
];

/** One pod on each node whose taints it tolerates, bound by the controller itself. The eviction removes them. */
export const keepDaemonSet = (world: ClusterWorld, key: string): void => {
  const set = world.parts.cluster.objects.daemonsets[key];
  if (!set || set.metadata.deletionTimestamp !== undefined) return;
  for (const node of listObjects(world, 'nodes')) keepOnNode(world, set, node);
};

const keepOnNode = (world: ClusterWorld, set: WorkloadObject, node: NodeObject): void => {
  const writer = writerAs(world, 'daemon-set-controller');
  const spec: PodSpec = {
    ...set.spec.template.spec,
    tolerations: [...(set.spec.template.spec.tolerations ?? []), ...added],
  };
  const barring = untolerated(spec.tolerations, node.spec.taints ?? []).filter(
    (taint) => taint.effect !== 'PreferNoSchedule',
  );
  const own = podsOn(world, node.metadata.name).filter((pod) => ownedBy(pod, set));
  for (const pod of own)
    if (isFinished(pod) && pod.metadata.deletionTimestamp === undefined) writer.remove('pods', pod);
  if (barring.length > 0 || own.length > 0) return;
  writer.create(
    'pods',
    podOf(set, `${set.metadata.name}-${randomSuffix(world)}`, { ...spec, nodeName: node.metadata.name }),
  );
};
