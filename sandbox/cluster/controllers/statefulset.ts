import type { PodSpec, WorkloadObject } from '../objects.ts';
import { writerAs } from './object-writer.ts';
import { getObject } from '../get-objects.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { isFinished, isReadyPod, podOf } from './pods.ts';
import { createClaim } from './provisioner.ts';

/**
 * OrderedReady: creates each ordinal only after the previous ones are ready. A pod that is being deleted keeps its name
 * until it is gone.
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
  if (!pod && !claimsStand(world, set, name)) return false;
  if (!pod) writer.create('pods', podOf(set, name, withClaims(set, name)));
  else if (isFinished(pod) && pod.metadata.deletionTimestamp === undefined) writer.remove('pods', pod);
  return pod !== undefined && isReadyPod(pod) && pod.metadata.deletionTimestamp === undefined;
};

/** Creates the missing claims of a pod. Returns false while one of them is being deleted. */
const claimsStand = (world: ClusterWorld, set: WorkloadObject, pod: string): boolean =>
  (set.spec.volumeClaimTemplates ?? []).every(({ metadata, spec }) => {
    const { namespace = 'default' } = set.metadata;
    const name = `${metadata.name}-${pod}`;
    const claim = getObject(world, 'persistentvolumeclaims', name, namespace);
    if (!claim && spec) createClaim(world, { ...metadata, name, namespace }, spec);
    return claim?.metadata.deletionTimestamp === undefined;
  });

const withClaims = (set: WorkloadObject, pod: string): PodSpec => {
  const claims = (set.spec.volumeClaimTemplates ?? []).map(({ metadata }) => ({
    name: metadata.name,
    persistentVolumeClaim: { claimName: `${metadata.name}-${pod}` },
  }));
  return { ...set.spec.template.spec, volumes: [...(set.spec.template.spec.volumes ?? []), ...claims] };
};
