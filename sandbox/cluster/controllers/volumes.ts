import { createHash } from 'node:crypto';
import type { PersistentVolumeObject, PodObject } from '../objects.ts';
import { listObjects, getObject } from '../get-objects.ts';
import type { ClusterWorld } from '../cluster-world.ts';

export const zoneLabel = 'topology.kubernetes.io/zone';

export interface AttachableVolume {
  readonly unique: string;
  readonly driver: string;
  readonly handle: string;
  /** The name of the PersistentVolume. */
  readonly volume: string;
  readonly zone: string | null;
  /** ReadWriteMany or ReadOnlyMany, which attach-detach allows on several nodes at once. */
  readonly shared: boolean;
}

/** The name that Kubernetes computes for a volume on a node (csi_attacher.go, getAttachmentName). */
export const attachmentName = (volume: { driver: string; handle: string }, node: string): string =>
  `csi-${createHash('sha256')
    .update(volume.handle + volume.driver + node)
    .digest('hex')}`;

const zoneOf = (volume: PersistentVolumeObject): string | null => {
  const terms = volume.spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const named = terms.flatMap((term) => term.matchExpressions ?? []).find((match) => match.key === zoneLabel);
  return volume.metadata.labels?.[zoneLabel] ?? named?.values?.[0] ?? null;
};

/** Binds a volume to a zone, as drivers do. */
export const inZone = (zone: string): NonNullable<PersistentVolumeObject['spec']['nodeAffinity']> => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: zoneLabel, operator: 'In', values: [zone] }] }] },
});

export const attachableOf = (volume: PersistentVolumeObject): AttachableVolume | null => {
  const { csi } = volume.spec;
  if (!csi) return null;
  return {
    unique: `kubernetes.io/csi/${csi.driver}^${csi.volumeHandle}`,
    driver: csi.driver,
    handle: csi.volumeHandle,
    volume: volume.metadata.name,
    zone: zoneOf(volume),
    shared: (volume.spec.accessModes ?? []).some((mode) => mode === 'ReadWriteMany' || mode === 'ReadOnlyMany'),
  };
};

/** Returns the attachable volumes of a pod's claims, or `unbound` if a claim has no volume yet. */
export const volumesOfPod = (world: ClusterWorld, pod: PodObject): readonly AttachableVolume[] | 'unbound' => {
  const found: AttachableVolume[] = [];
  for (const { persistentVolumeClaim } of pod.spec.volumes ?? []) {
    if (!persistentVolumeClaim) continue;
    const claim = getObject(world, 'persistentvolumeclaims', persistentVolumeClaim.claimName, pod.metadata.namespace);
    const volume = getObject(world, 'persistentvolumes', claim?.spec.volumeName ?? '');
    if (!volume) return 'unbound';
    const attachable = attachableOf(volume);
    if (attachable) found.push(attachable);
  }
  return found;
};

/** Finds a volume by attach-detach's name. */
export const attachableNamed = (world: ClusterWorld, name: string): AttachableVolume | null => {
  const volume = getObject(world, 'persistentvolumes', name);
  return volume ? attachableOf(volume) : null;
};

export const podsOn = (world: ClusterWorld, node: string): readonly PodObject[] =>
  listObjects(world, 'pods').filter((pod) => pod.spec.nodeName === node);
