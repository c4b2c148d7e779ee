import { getObject, listObjects } from '../get-objects.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import type { ObjectMeta, PersistentVolumeClaimObject, PersistentVolumeObject, PodObject } from '../objects.ts';
import type { CloudView } from './cloud-view.ts';
import { writerAs } from './object-writer.ts';
import { isFinished } from './pods.ts';
import { inZone, zoneLabel } from './volumes.ts';

/** Creates and deletes the disks of claims with a StorageClass, like the external-provisioner and pvc-protection. */

const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
const PROVISIONED = 'pv.kubernetes.io/provisioned-by';
const PROTECTION = 'kubernetes.io/pvc-protection';
const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';

const defaultClass = (world: ClusterWorld): string | undefined =>
  listObjects(world, 'storageclasses').find(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === 'true')
    ?.metadata.name;

/** Creates a claim as admission changes it: with the default class, and protected while a pod uses it. */
export const createClaim = (
  world: ClusterWorld,
  metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'labels'>,
  spec: PersistentVolumeClaimObject['spec'],
): void => {
  const storageClassName = spec.storageClassName ?? defaultClass(world);
  writerAs(world, 'statefulset-controller').create('persistentvolumeclaims', {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { ...metadata, finalizers: [PROTECTION] },
    spec: { ...spec, ...(storageClassName !== undefined && { storageClassName }) },
    status: { phase: 'Pending' },
  });
};

const claimsOf = (world: ClusterWorld, pod: PodObject): readonly PersistentVolumeClaimObject[] =>
  (pod.spec.volumes ?? []).flatMap(
    ({ persistentVolumeClaim }) =>
      getObject(world, 'persistentvolumeclaims', persistentVolumeClaim?.claimName ?? '', pod.metadata.namespace) ?? [],
  );

const classOf = (world: ClusterWorld, { spec }: PersistentVolumeClaimObject) =>
  getObject(world, 'storageclasses', spec.storageClassName ?? '');

/** The scheduler's part: it selects the node, and the provisioner creates the disk there. */
export const selectNodeForClaims = (world: ClusterWorld, pod: PodObject, node: string): void => {
  for (const claim of claimsOf(world, pod)) {
    const waits = claim.spec.volumeName === undefined && claim.metadata.annotations?.[SELECTED_NODE] === undefined;
    if (waits && classOf(world, claim))
      writerAs(world, 'kube-scheduler').change('persistentvolumeclaims', claim, (draft) => {
        draft.metadata.annotations = { ...draft.metadata.annotations, [SELECTED_NODE]: node };
      });
  }
};

const makeDisk = (cloudView: CloudView, world: ClusterWorld, claim: PersistentVolumeClaimObject): void => {
  const node = getObject(world, 'nodes', claim.metadata.annotations?.[SELECTED_NODE] ?? '');
  if (!node || !cloudView.provision || claim.spec.volumeName !== undefined) return;
  const writer = writerAs(world, 'external-provisioner');
  const zone = node.metadata.labels?.[zoneLabel] ?? '';
  const { name, namespace = 'default', uid } = claim.metadata;
  const volumeName = `pvc-${uid}`;
  writer.create('persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: volumeName, annotations: { [PROVISIONED]: cloudView.driver } },
    spec: {
      csi: { driver: cloudView.driver, volumeHandle: cloudView.provision(zone) },
      claimRef: { namespace, name, uid },
      accessModes: [...(claim.spec.accessModes ?? ['ReadWriteOnce'])],
      nodeAffinity: inZone(zone),
    },
    status: { phase: 'Bound' },
  });
  writer.change('persistentvolumeclaims', claim, (draft) => {
    draft.spec.volumeName = volumeName;
    draft.status = { phase: 'Bound' };
  });
};

const isUsed = (world: ClusterWorld, { metadata }: PersistentVolumeClaimObject): boolean =>
  listObjects(world, 'pods').some(
    (pod) =>
      !isFinished(pod) &&
      pod.metadata.namespace === metadata.namespace &&
      (pod.spec.volumes ?? []).some(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName === metadata.name),
  );

const letClaimGo = (world: ClusterWorld, claim: PersistentVolumeClaimObject): void => {
  if (claim.metadata.deletionTimestamp === undefined || isUsed(world, claim)) return;
  writerAs(world, 'pvc-protection').change(
    'persistentvolumeclaims',
    claim,
    (draft) => void (draft.metadata.finalizers = (draft.metadata.finalizers ?? []).filter((one) => one !== PROTECTION)),
  );
};

const isLeft = (world: ClusterWorld, { metadata, spec }: PersistentVolumeObject): boolean =>
  metadata.annotations?.[PROVISIONED] !== undefined &&
  getObject(world, 'persistentvolumeclaims', spec.claimRef?.name ?? '', spec.claimRef?.namespace)?.metadata.uid !==
    spec.claimRef?.uid;

const deleteDisk = (cloudView: CloudView, world: ClusterWorld, volume: PersistentVolumeObject): void => {
  const { name } = volume.metadata;
  if (listObjects(world, 'volumeattachments').some(({ spec }) => spec.source.persistentVolumeName === name)) return;
  writerAs(world, 'external-provisioner').remove('persistentvolumes', volume);
  cloudView.deprovision(volume.spec.csi?.volumeHandle ?? '');
};

const AGAIN_MS = 500;

/** Creates the disks for which claims wait, and deletes disks without a claim. */
export const keepDisks = (cloudView: CloudView, world: ClusterWorld): void => {
  for (const claim of listObjects(world, 'persistentvolumeclaims')) {
    makeDisk(cloudView, world, claim);
    letClaimGo(world, claim);
  }
  const left = () => listObjects(world, 'persistentvolumes').filter((volume) => isLeft(world, volume));
  for (const volume of left()) deleteDisk(cloudView, world, volume);
  const dying = listObjects(world, 'persistentvolumeclaims').some(({ metadata }) => metadata.deletionTimestamp);
  if (dying || left().length > 0) world.schedule('provisioner', AGAIN_MS);
};
