import type { PodSpec, WorkloadObject } from '../objects.ts';
import { writerAs } from './object-writer.ts';
import { getObject } from '../get-objects.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { isFinished, isReadyPod, podOf } from './pods.ts';

/**
 * OrderedReady: each ordinal only when those before it are ready; a pod that terminates keeps its name until it is
 * gone.
 */
export const keepStatefulSet = (world: ClusterWorld, key: string): void => {
  const set = world.parts.cluster.objects.statefulsets[key];
  if (!set || set.metadata.deletionTimestamp !== undefined) return;
  for (let ordinal = 0; ordinal < set.spec.replicas; ordinal += 1) {
    if (!keepOrdinal(world, set, ordinal)) return;
  }
};

const keepOrdinal = (world: ClusterWorld, set: WorkloadObject, ordinal: number): boolean => {
  const writer = writerAs(world, 'statefulset-controller');
  const name = `${set.metadata.name}-${ordinal}`;
  const pod = getObject(world, 'pods', name, set.metadata.namespace);
  if (!pod) writer.create('pods', podOf(set, name, withClaims(set, name)));
  else if (isFinished(pod) && pod.metadata.deletionTimestamp === undefined) writer.remove('pods', pod);
  return pod !== undefined && isReadyPod(pod) && pod.metadata.deletionTimestamp === undefined;
};

/** The fixtures create the claims, already bound. */
const withClaims = (set: WorkloadObject, pod: string): PodSpec => {
  const claims = (set.spec.volumeClaimTemplates ?? []).map(({ metadata }) => ({
    name: metadata.name,
    persistentVolumeClaim: { claimName: `${metadata.name}-${pod}` },
  }));
  return { ...set.spec.template.spec, volumes: [...(set.spec.template.spec.volumes ?? []), ...claims] };
};
