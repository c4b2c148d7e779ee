import { DRIVER } from '../kubelet/kubelet-node.ts';

/** Manifests of an existing volume and of the claim that is bound to it. */

export const ZONE_LABEL = 'topology.kubernetes.io/zone';

export interface VolumeShape {
  readonly accessMode: 'ReadWriteOnce' | 'ReadWriteOncePod' | 'ReadWriteMany';
  readonly volumeMode: 'Filesystem' | 'Block';
  /** A CSI driver, or the former in-tree plugin. */
  readonly driver: string;
  /** A name by which claims find a volume that is not bound to them from the start. No such class has to exist. */
  readonly storageClassName: string;
}

export const anyVolume: VolumeShape = {
  accessMode: 'ReadWriteOnce',
  volumeMode: 'Filesystem',
  driver: DRIVER,
  storageClassName: '',
};

const sizeOf = ({ accessMode, volumeMode, storageClassName }: VolumeShape) => ({
  accessModes: [accessMode],
  volumeMode,
  storageClassName,
});

export const claimSpec = (shape: VolumeShape) => ({ ...sizeOf(shape), resources: { requests: { storage: '1Gi' } } });

export const volumeName = (namespace: string, claim: string): string => `${namespace}-${claim}`;

/**
 * Kubernetes passes its volumes to the CSI driver.
 * https://kubernetes.io/docs/concepts/storage/volumes/#awselasticblockstore
 */
export const IN_TREE = 'kubernetes.io/aws-ebs';

const sourceOf = (driver: string, handle: string) =>
  driver === IN_TREE
    ? { awsElasticBlockStore: { volumeID: `aws://us-east-1a/${handle}`, fsType: 'ext4' } }
    : { csi: { driver, volumeHandle: handle } };

const within = (zone: string) => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE_LABEL, operator: 'In', values: [zone] }] }] },
});

/** The zone of a scene has the name of its namespace. A volume without a class belongs to that claim only. */
export const volumeOf = (namespace: string, claim: string, handle: string, shape: VolumeShape) => ({
  metadata: { name: volumeName(namespace, claim) },
  spec: {
    ...sizeOf(shape),
    capacity: { storage: '1Gi' },
    persistentVolumeReclaimPolicy: 'Retain',
    ...sourceOf(shape.driver, handle),
    ...(shape.storageClassName === '' && { claimRef: { namespace, name: claim } }),
    ...(shape.driver !== IN_TREE && { nodeAffinity: within(namespace) }),
  },
});

export const claimOf = (namespace: string, claim: string, shape: VolumeShape) => ({
  metadata: { name: claim },
  spec: { ...claimSpec(shape), volumeName: volumeName(namespace, claim) },
});
