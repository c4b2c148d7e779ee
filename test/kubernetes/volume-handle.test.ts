import type { V1PersistentVolumeSpec, V1Pod, V1Volume } from '@kubernetes/client-node/dist/gen/index.js';
import { describe, expect, it } from 'vitest';
import {
  inlineVolumeOf,
  csiHandleOf,
  inlineBackings,
  inlineHandles,
  hasUnknownBacking,
  parseUniqueVolumeName,
} from '../../kubernetes/volumes.ts';

const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone';
const ZONE = 'topology.kubernetes.io/zone';
const DISK_URI = '/subscriptions/S/resourceGroups/Group/providers/Microsoft.Compute/disks/Data-1';

/**
 * Inputs and outputs as in csi-translation-lib v0.36.3,
 * plugins/{aws_ebs,azure_disk,gce_pd,openstack_cinder,portworx,vsphere_volume}_test.go.
 */
const translations: readonly (readonly [string, V1PersistentVolumeSpec, Record<string, string>, string, string])[] = [
  ['a bare EBS volume', { awsElasticBlockStore: { volumeID: 'vol-1' } }, {}, 'ebs.csi.aws.com', 'vol-1'],
  [
    'an EBS volume of a zone',
    { awsElasticBlockStore: { volumeID: 'aws://eu-central-1a/vol-1' } },
    {},
    'ebs.csi.aws.com',
    'vol-1',
  ],
  [
    'an EBS volume with an empty zone',
    { awsElasticBlockStore: { volumeID: 'aws:///vol-1' } },
    {},
    'ebs.csi.aws.com',
    'vol-1',
  ],
  [
    'an EBS volume of a zone, with more slashes than it needs',
    { awsElasticBlockStore: { volumeID: 'aws://eu-central-1a//vol-0123/' } },
    {},
    'ebs.csi.aws.com',
    'vol-0123',
  ],
  [
    'a managed Azure disk, with the spelling unchanged',
    { azureDisk: { diskName: 'Data-1', diskURI: DISK_URI, kind: 'Managed' } },
    {},
    'disk.csi.azure.com',
    DISK_URI,
  ],
  [
    'an Azure disk without a kind',
    { azureDisk: { diskName: 'Data-1', diskURI: DISK_URI } },
    {},
    'disk.csi.azure.com',
    DISK_URI,
  ],
  [
    'a zonal Google disk',
    { gcePersistentDisk: { pdName: 'pd-1' } },
    { [ZONE]: 'us-central1-a' },
    'pd.csi.storage.gke.io',
    'projects/UNSPECIFIED/zones/us-central1-a/disks/pd-1',
  ],
  [
    'a Google disk with the older label, which counts first',
    { gcePersistentDisk: { pdName: 'pd-1' } },
    { [BETA_ZONE]: 'us-central1-b', [ZONE]: 'us-central1-a' },
    'pd.csi.storage.gke.io',
    'projects/UNSPECIFIED/zones/us-central1-b/disks/pd-1',
  ],
  [
    'a regional Google disk',
    { gcePersistentDisk: { pdName: 'pd-1' } },
    { [ZONE]: 'us-central1-a__us-central1-c' },
    'pd.csi.storage.gke.io',
    'projects/UNSPECIFIED/regions/us-central1/disks/pd-1',
  ],
  [
    'a Google disk without a zone',
    { gcePersistentDisk: { pdName: 'pd-1' } },
    {},
    'pd.csi.storage.gke.io',
    'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd-1',
  ],
  ['a Cinder volume', { cinder: { volumeID: 'c-1' } }, {}, 'cinder.csi.openstack.org', 'c-1'],
  ['a Portworx volume', { portworxVolume: { volumeID: 'p-1' } }, {}, 'pxd.portworx.com', 'p-1'],
  ['a vSphere volume', { vsphereVolume: { volumePath: '[ds] a.vmdk' } }, {}, 'csi.vsphere.vmware.com', '[ds] a.vmdk'],
  ['a CSI volume', { csi: { driver: 'd', volumeHandle: 'h' } }, {}, 'd', 'h'],
];

describe('a PersistentVolume', () => {
  it.each(translations)('of %s has its CSI handle', (_, spec, labels, driver, handle) => {
    expect(csiHandleOf({ metadata: { labels }, spec })).toEqual({ driver, handle });
    expect(hasUnknownBacking({ metadata: { labels }, spec })).toBe(false);
  });

  it.each<readonly [string, V1PersistentVolumeSpec, boolean]>([
    ['on a path', { hostPath: { path: '/data' } }, false],
    ['on NFS', { nfs: { path: '/', server: 'nfs' } }, false],
    [
      'of an unmanaged Azure disk, which has no driver',
      { azureDisk: { diskName: 'd', diskURI: 'https://a.blob.core.windows.net/d.vhd', kind: 'Dedicated' } },
      false,
    ],
    ['of a kind that this client does not know', {}, true],
    ...['aws://z/not-a-volume', 'aws://z/vol-1/more', 'aws://a/b/aws://z/vol-1'].map(
      (volumeID) => [`of the unreadable EBS volume ${volumeID}`, { awsElasticBlockStore: { volumeID } }, true] as const,
    ),
    ['of Google disks in two regions', { gcePersistentDisk: { pdName: 'pd-1' } }, true],
  ])('%s has no handle and is unknown: %s', (_, spec, unknown) => {
    const volume = { metadata: { labels: { [ZONE]: 'us-central1-a__europe-west1-b' } }, spec };
    expect([csiHandleOf(volume), hasUnknownBacking(volume)]).toEqual([null, unknown]);
  });
});

it('a Google disk in zones that name no region is unknown', () => {
  const volume = { metadata: { labels: { [ZONE]: 'a__b' } }, spec: { gcePersistentDisk: { pdName: 'pd-1' } } };
  expect([csiHandleOf(volume), hasUnknownBacking(volume)]).toEqual([null, true]);
});

describe('the name of a volume on the status of a Node', () => {
  it('contains a driver and a handle in any form', () => {
    expect(parseUniqueVolumeName('kubernetes.io/csi/pd.csi.storage.gke.io^projects/p^x')).toEqual({
      driver: 'pd.csi.storage.gke.io',
      handle: 'projects/p^x',
    });
  });

  it.each([
    'kubernetes.io/aws-ebs/vol-1',
    'x/kubernetes.io/csi/d^h',
    'kubernetes.io/csi/d',
    'kubernetes.io/csi/d^',
    'kubernetes.io/csi/d^h\nx',
  ])('is not that of a CSI volume: %j', (name) => {
    expect(parseUniqueVolumeName(name)).toBeNull();
  });
});

const pod = (...volumes: Omit<V1Volume, 'name'>[]): V1Pod => ({
  spec: { containers: [], volumes: volumes.map((volume, at) => ({ name: `v${at}`, ...volume })) },
});

describe('a volume in the spec of a pod', () => {
  it.each([
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
    'nfs',
    'photonPersistentDisk',
    'projected',
    'quobyte',
    'scaleIO',
    'secret',
    'storageos',
  ])('is never attached by a CSI driver if its kind is %s, so no pod waits for it', (kind) => {
    expect(inlineBackings(pod({ [kind]: {} }))).toEqual([['v0', 'never-attached']]);
  });

  it('is never attached by a CSI driver if it is a local PersistentVolume', () => {
    expect(hasUnknownBacking({ spec: { local: { path: '/mnt' } } })).toBe(false);
  });

  it('has the handle of the CSI driver that replaced its kind', () => {
    const named = pod(
      { awsElasticBlockStore: { volumeID: 'vol-1' } },
      { azureDisk: { diskName: 'd', diskURI: DISK_URI, kind: 'Managed' } },
      { gcePersistentDisk: { pdName: 'pd-1' } },
    );
    expect(inlineHandles([named]).map(({ handle }) => handle)).toEqual([
      'vol-1',
      DISK_URI,
      'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd-1',
    ]);
  });

  it('is never attached if it is an ephemeral CSI volume, and has no claim', () => {
    const named = pod(
      { csi: { driver: 'ebs.csi.aws.com' } },
      { emptyDir: {} },
      { persistentVolumeClaim: { claimName: 'c' } },
      { ephemeral: {} },
    );
    expect(inlineBackings(named)).toEqual([
      ['v0', 'never-attached'],
      ['v1', 'never-attached'],
    ]);
  });

  it('is unknown if its kind is unknown, because a newer server may have attached it', () => {
    expect(inlineBackings(pod({}))).toEqual([['v0', 'unknown']]);
  });

  it('is found by the attachment that has no PersistentVolume', () => {
    const inlineVolumeSpec = { csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1' } };
    expect(
      inlineVolumeOf({ spec: { attacher: 'ebs.csi.aws.com', nodeName: 'n', source: { inlineVolumeSpec } } }),
    ).toEqual({ driver: 'ebs.csi.aws.com', handle: 'vol-1' });
    expect(
      inlineVolumeOf({ spec: { attacher: 'ebs.csi.aws.com', nodeName: 'n', source: { persistentVolumeName: 'pv' } } }),
    ).toBeNull();
  });
});
