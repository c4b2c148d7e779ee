import {
  CoreV1Api,
  type V1PersistentVolume,
  type V1PersistentVolumeClaim,
  type V1PersistentVolumeSpec,
  type V1Pod,
  type V1Volume,
  type V1VolumeAttachment,
} from '@kubernetes/client-node/dist/gen/index.js';
import type { VolumeHandle } from '../fencing/model/machine.ts';
import type { Reader } from './connection.ts';

/** Resolves a volume of a pod to its PersistentVolume, driver, and handle. */

/** What a pod's volume resolves to: a CSI volume, something that CSI never attaches, or something unknown. */
type Backing = VolumeHandle | 'never-attached' | 'unknown';

/**
 * Kinds of volumes that no CSI driver attaches: files, network storage, and former plugins that attach volumes
 * themselves.
 */
const NEVER_ATTACHED = new Set([
  'azureFile',
  'cephfs',
  'configMap',
  'downwardAPI',
  'emptyDir',
  'fc',
  'flexVolume',
  'flocker',
  'gitRepo',
  'glusterfs',
  'hostPath',
  'image',
  'iscsi',
  'local',
  'nfs',
  'photonPersistentDisk',
  'projected',
  'quobyte',
  'scaleIO',
  'secret',
  'storageos',
]);

/**
 * Classifies a volume that Kubernetes does not pass to CSI. An unknown kind comes from a newer server, because the
 * client drops fields that it does not know.
 */
const otherKind = (volume: object): Backing =>
  Object.keys(volume).some((kind) => NEVER_ATTACHED.has(kind)) ? 'never-attached' : 'unknown';

const inTreeBacking = (volume: V1Volume | V1PersistentVolumeSpec, zones: string): Backing => {
  const translation = translatedInTree(volume, zones);
  return translation === undefined ? otherKind(volume) : (translation ?? 'unknown');
};

const ZONE_LABELS = ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'] as const;

const backingOf = ({ metadata, spec }: V1PersistentVolume): Backing => {
  if (!spec) return 'unknown';
  if (spec.csi) return { driver: spec.csi.driver, handle: spec.csi.volumeHandle };
  return inTreeBacking(
    spec,
    ZONE_LABELS.map((label) => metadata?.labels?.[label] ?? '').find((zones) => zones !== '') ?? '',
  );
};

const handleOrNull = (backing: Backing): VolumeHandle | null => (typeof backing === 'string' ? null : backing);

/** Returns the CSI volume of a PersistentVolume, or null if none is known. */
export const csiHandleOf = (volume: V1PersistentVolume): VolumeHandle | null => handleOrNull(backingOf(volume));

export const hasUnknownBacking = (volume: V1PersistentVolume): boolean => backingOf(volume) === 'unknown';

/**
 * Returns the volumes of a pod that name no claim, resolved. A CSI volume that a pod defines itself is ephemeral and
 * never attached.
 */
export const inlineBackings = ({ spec }: V1Pod): readonly (readonly [string, Backing])[] =>
  (spec?.volumes ?? [])
    .filter(({ persistentVolumeClaim, ephemeral }) => !persistentVolumeClaim && !ephemeral)
    .map((volume) => [volume.name, volume.csi ? 'never-attached' : inTreeBacking(volume, '')] as const);

export const inlineHandles = (pods: readonly V1Pod[]): readonly VolumeHandle[] =>
  pods.flatMap((pod) => inlineBackings(pod).flatMap(([, backing]) => handleOrNull(backing) ?? []));

/**
 * Returns the volume of an attachment without a PersistentVolume, which exists if a pod named the volume itself; null
 * for any other attachment. See Attach in pkg/volume/csi/csi_attacher.go.
 */
export const inlineVolumeOf = ({ spec }: V1VolumeAttachment): VolumeHandle | null =>
  spec.source.inlineVolumeSpec ? handleOrNull(backingOf({ spec: spec.source.inlineVolumeSpec })) : null;

const UNIQUE_NAME = /^kubernetes\.io\/csi\/([^^]+)\^(.+)$/;

export const volumeKey = ({ driver, handle }: VolumeHandle): string => `${driver}^${handle}`;

/**
 * Parses a volume name from a Node's status, `kubernetes.io/csi/<driver>^<handle>`. Returns null for volumes of another
 * kind.
 */
export const parseUniqueVolumeName = (uniqueName: string): VolumeHandle | null => {
  const [, driver, handle] = UNIQUE_NAME.exec(uniqueName) ?? [];
  return driver === undefined || handle === undefined ? null : { driver, handle };
};

/**
 * The rest of this section translates in-tree volumes to CSI volumes as Kubernetes does: csi-translation-lib v0.36.3,
 * plugins/*.go, TranslateInTreePVToCSI and TranslateInTreeInlineVolumeToCSI. The result is the translated handle,
 * without later additions by a driver or the attacher, because Kubernetes computes the name of the VolumeAttachment
 * from it.
 */

type InTree = Pick<
  V1PersistentVolumeSpec,
  'awsElasticBlockStore' | 'azureDisk' | 'gcePersistentDisk' | 'cinder' | 'portworxVolume' | 'vsphereVolume'
> &
  Pick<
    V1Volume,
    'awsElasticBlockStore' | 'azureDisk' | 'gcePersistentDisk' | 'cinder' | 'portworxVolume' | 'vsphereVolume'
  >;

/** A CSI volume; `never-attached` if no CSI driver ever attaches the volume; or null if the translation fails. */
type Translation = VolumeHandle | 'never-attached' | null;

const csi = (driver: string, handle: string): VolumeHandle => ({ driver, handle });

const EBS_URL = /^aws:\/\/[^/]*\/+(vol-[^/]*)\/*$/;

/** Behaves like KubernetesVolumeIDToEBSVolumeID: accepts a URL that ends with the volume's id, or the id alone. */
const ebs = (id: string): Translation => {
  const handle = id.startsWith('aws://') ? EBS_URL.exec(id)?.[1] : id;
  return handle === undefined || handle === '' ? null : csi('ebs.csi.aws.com', handle);
};

/** Translates an Azure disk. Unmanaged disks (blobs) have no CSI driver. */
const azure = (kind: string | undefined, uri: string): Translation =>
  (kind ?? 'Managed').toLowerCase() === 'managed' ? csi('disk.csi.azure.com', uri) : 'never-attached';

const MULTI_ZONE = '__';
const regionOf = (zone: string): string => zone.slice(0, Math.max(0, zone.lastIndexOf('-')));

/**
 * Returns the zone or the region for the path of a disk, or null. `zones` is the text of the volume's zone label.
 * gceGetRegionFromZones rejects zones of several regions.
 */
const gceLocation = (zones: string): string | null => {
  const all = zones.split(MULTI_ZONE);
  if (all.length === 1) return `zones/${zones === '' ? 'UNSPECIFIED' : zones}`;
  const [region = '', ...others] = new Set(all.map(regionOf));
  return region === '' || others.length > 0 ? null : `regions/${region}`;
};

const gce = (name: string, zones: string): Translation => {
  const location = gceLocation(zones);
  return location === null ? null : csi('pd.csi.storage.gke.io', `projects/UNSPECIFIED/${location}/disks/${name}`);
};

/**
 * Translates an in-tree volume. Returns undefined for a volume that Kubernetes does not pass to CSI. `zones` is the
 * text of its zone label. It is empty for a volume that a pod names itself.
 */
const translatedInTree = (volume: Partial<InTree>, zones: string): Translation | undefined => {
  const { awsElasticBlockStore, azureDisk, gcePersistentDisk, cinder, portworxVolume, vsphereVolume } = volume;
  if (awsElasticBlockStore) return ebs(awsElasticBlockStore.volumeID);
  if (azureDisk) return azure(azureDisk.kind, azureDisk.diskURI);
  if (gcePersistentDisk) return gce(gcePersistentDisk.pdName, zones);
  if (cinder) return csi('cinder.csi.openstack.org', cinder.volumeID);
  if (portworxVolume) return csi('pxd.portworx.com', portworxVolume.volumeID);
  return vsphereVolume && csi('csi.vsphere.vmware.com', vsphereVolume.volumePath);
};

/** A PersistentVolumeClaim that a pod names. */
export interface PvcReference {
  readonly namespace: string;
  readonly name: string;
}

const claimName = (pod: V1Pod, volume: V1Volume): string | null => {
  if (volume.persistentVolumeClaim) return volume.persistentVolumeClaim.claimName;
  return volume.ephemeral ? `${pod.metadata?.name ?? ''}-${volume.name}` : null;
};

/**
 * Lists the claims of a pod, including those of its generic ephemeral volumes.
 * https://kubernetes.io/docs/concepts/storage/ephemeral-volumes/#persistentvolumeclaim-naming
 */
export const pvcsOfPod = (pod: V1Pod): readonly PvcReference[] =>
  (pod.spec?.volumes ?? []).flatMap((volume) => {
    const name = claimName(pod, volume);
    return name === null ? [] : [{ namespace: pod.metadata?.namespace ?? '', name }];
  });

export const pvcKey = ({ namespace, name }: PvcReference): string => `${namespace}/${name}`;

export const readVolume = (reader: Reader, name: string): Promise<V1PersistentVolume | null> =>
  reader.readIfPresent(CoreV1Api, { name }, (core, key) => core.readPersistentVolume(key));

export const readPvc = (reader: Reader, { namespace, name }: PvcReference): Promise<V1PersistentVolumeClaim | null> =>
  reader.readIfPresent(CoreV1Api, { namespace, name }, (core, key) => core.readNamespacedPersistentVolumeClaim(key));

/** Returns the data about a PersistentVolume that a look needs. */
const asVolume = (name: string, { driver, handle }: VolumeHandle, claim: PvcReference): V1PersistentVolume => ({
  metadata: { name },
  spec: { csi: { driver, volumeHandle: handle }, claimRef: { namespace: claim.namespace, name: claim.name } },
});

/** The volumes of the attachments that a look has read, by the name of the PersistentVolume. */
export type Attached = ReadonlyMap<string, VolumeHandle>;

/**
 * Returns the volume that is bound to the claim in both directions, or null if there is none. A claim in phase Bound is
 * bound in both directions. If an attachment already shows that volume, no further read is made.
 */
const readBound = async (
  reader: Reader,
  claim: PvcReference,
  attached: () => Promise<Attached>,
): Promise<V1PersistentVolume | null> => {
  const pvc = await readPvc(reader, claim);
  const volumeName = pvc?.spec?.volumeName ?? '';
  const shown = pvc?.status?.phase === 'Bound' ? (await attached()).get(volumeName) : undefined;
  if (shown) return asVolume(volumeName, shown, claim);
  const volume = volumeName === '' ? null : await readVolume(reader, volumeName);
  const back = volume?.spec?.claimRef;
  return back?.namespace === claim.namespace && back.name === claim.name ? volume : null;
};

/**
 * The maximum number of claims to read. The pods of a real Node never have more. Further claims are not read, and count
 * as claims that cannot be resolved.
 */
const MOST_CLAIMS = 1_000;

/** Returns the PersistentVolumes of the pods' claims, by claim key. Omits claims without a PersistentVolume. */
export const readVolumesOfPvcs = async (
  reader: Reader,
  pods: readonly V1Pod[],
  attached: () => Promise<Attached> = async () => new Map(),
): Promise<ReadonlyMap<string, V1PersistentVolume>> => {
  const claims = new Map(pods.flatMap(pvcsOfPod).map((claim) => [pvcKey(claim), claim]));
  const bound = await Promise.all(
    [...claims]
      .slice(0, MOST_CLAIMS)
      .map(async ([key, claim]) => [key, await readBound(reader, claim, attached)] as const),
  );
  return new Map(bound.flatMap(([key, volume]) => (volume ? [[key, volume] as const] : [])));
};
