import type { V1PersistentVolume, V1PersistentVolumeSpec, V1Pod, V1Volume, V1VolumeAttachment } from '@kubernetes/client-node/dist/gen/index.js';
import type { VolumeHandle } from '../fencing/machine.ts';
import { translatedInTree } from './in-tree-volumes.ts';

/** What is below a volume: a CSI volume, nothing that CSI ever attaches, or nobody knows. */
export type Backing = VolumeHandle | 'never-attached' | 'unknown';

/** Kinds that no CSI driver attaches: files, networks, and the former plugins that attach on their own. */
const NEVER_ATTACHED = new Set([
  'azureFile', 'cephfs', 'configMap', 'downwardAPI', 'emptyDir', 'fc', 'flexVolume', 'flocker', 'gitRepo', 'glusterfs', 'hostPath', 'image',
  'iscsi', 'local', 'nfs', 'photonPersistentDisk', 'projected', 'quobyte', 'scaleIO', 'secret', 'storageos',
]);

/** A kind that is neither known nor handed over is one of a newer server: the client drops what it has no model for. */
const otherKind = (volume: object): Backing => (Object.keys(volume).some((kind) => NEVER_ATTACHED.has(kind)) ? 'never-attached' : 'unknown');

const inTree = (volume: V1Volume | V1PersistentVolumeSpec, zones: string): Backing => {
  const translation = translatedInTree(volume, zones);
  return translation === undefined ? otherKind(volume) : (translation ?? 'unknown');
};

const ZONE_LABELS = ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'] as const;

const backingOf = ({ metadata, spec }: V1PersistentVolume): Backing => {
  if (!spec) return 'unknown';
  if (spec.csi) return { driver: spec.csi.driver, handle: spec.csi.volumeHandle };
  return inTree(spec, ZONE_LABELS.map((label) => metadata?.labels?.[label] ?? '').find((zones) => zones !== '') ?? '');
};

const asHandle = (backing: Backing): VolumeHandle | null => (typeof backing === 'string' ? null : backing);

/** The CSI volume behind a PersistentVolume, or null when none is known. */
export const handleOf = (volume: V1PersistentVolume): VolumeHandle | null => asHandle(backingOf(volume));

export const isUnknown = (volume: V1PersistentVolume): boolean => backingOf(volume) === 'unknown';

/** Volumes of a pod that name no claim, with what is below them. A CSI volume of the pod's own is ephemeral, and never attached. */
export const inlineBackings = ({ spec }: V1Pod): readonly (readonly [string, Backing])[] =>
  (spec?.volumes ?? [])
    .filter(({ persistentVolumeClaim, ephemeral }) => !persistentVolumeClaim && !ephemeral)
    .map((volume) => [volume.name, volume.csi ? 'never-attached' : inTree(volume, '')] as const);

export const inlineHandles = (pods: readonly V1Pod[]): readonly VolumeHandle[] =>
  pods.flatMap((pod) => inlineBackings(pod).flatMap(([, backing]) => asHandle(backing) ?? []));

/** The volume of an attachment that has no PersistentVolume because a pod named the volume itself. pkg/volume/csi/csi_attacher.go, Attach */
export const attachedInline = ({ spec }: V1VolumeAttachment): VolumeHandle | null =>
  spec.source.inlineVolumeSpec ? asHandle(backingOf({ spec: spec.source.inlineVolumeSpec })) : null;
