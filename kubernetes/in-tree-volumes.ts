import type { V1PersistentVolumeSpec, V1Volume } from '@kubernetes/client-node/dist/gen/index.js';
import type { VolumeHandle } from '../fencing/machine.ts';

/**
 * In-tree volumes as the CSI drivers see them to which Kubernetes hands them over: csi-translation-lib v0.36.3, plugins/*.go,
 * TranslateInTreePVToCSI and TranslateInTreeInlineVolumeToCSI. The handle is the translated one, without what a driver or
 * the attacher fills in later: the name of the VolumeAttachment is made of it.
 */

type InTree = Pick<V1PersistentVolumeSpec, 'awsElasticBlockStore' | 'azureDisk' | 'gcePersistentDisk' | 'cinder' | 'portworxVolume' | 'vsphereVolume'> &
  Pick<V1Volume, 'awsElasticBlockStore' | 'azureDisk' | 'gcePersistentDisk' | 'cinder' | 'portworxVolume' | 'vsphereVolume'>;

/** A handle; that no CSI driver ever attaches it; or null, where the translation itself fails. */
export type Translation = VolumeHandle | 'never-attached' | null;

const csi = (driver: string, handle: string): VolumeHandle => ({ driver, handle });

const EBS_URL = /^aws:\/\/[^/]*\/+(vol-[^/]*)\/*$/;

/** KubernetesVolumeIDToEBSVolumeID: a URL that ends with the volume's id, or the bare id. */
const ebs = (id: string): Translation => {
  const handle = id.startsWith('aws://') ? EBS_URL.exec(id)?.[1] : id;
  return handle === undefined || handle === '' ? null : csi('ebs.csi.aws.com', handle);
};

/** Blobs of the time before managed disks have no CSI driver. */
const azure = (kind: string | undefined, uri: string): Translation =>
  (kind ?? 'Managed').toLowerCase() === 'managed' ? csi('disk.csi.azure.com', uri) : 'never-attached';

const MULTI_ZONE = '__';
const regionOf = (zone: string): string => zone.slice(0, Math.max(0, zone.lastIndexOf('-')));

/** `zones`: the text of the volume's zone label. gceGetRegionFromZones refuses zones of more than one region. */
const gcePlace = (zones: string): string | null => {
  const all = zones.split(MULTI_ZONE);
  if (all.length === 1) return `zones/${zones === '' ? 'UNSPECIFIED' : zones}`;
  const [region = '', ...others] = new Set(all.map(regionOf));
  return region === '' || others.length > 0 ? null : `regions/${region}`;
};

const gce = (name: string, zones: string): Translation => {
  const place = gcePlace(zones);
  return place === null ? null : csi('pd.csi.storage.gke.io', `projects/UNSPECIFIED/${place}/disks/${name}`);
};

/** Undefined where the volume is none of those that were handed over. `zones`: its zone label; empty for a volume that a pod names itself. */
export const translatedInTree = (volume: Partial<InTree>, zones: string): Translation | undefined => {
  const { awsElasticBlockStore, azureDisk, gcePersistentDisk, cinder, portworxVolume, vsphereVolume } = volume;
  if (awsElasticBlockStore) return ebs(awsElasticBlockStore.volumeID);
  if (azureDisk) return azure(azureDisk.kind, azureDisk.diskURI);
  if (gcePersistentDisk) return gce(gcePersistentDisk.pdName, zones);
  if (cinder) return csi('cinder.csi.openstack.org', cinder.volumeID);
  if (portworxVolume) return csi('pxd.portworx.com', portworxVolume.volumeID);
  return vsphereVolume && csi('csi.vsphere.vmware.com', vsphereVolume.volumePath);
};
