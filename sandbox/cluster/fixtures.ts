import { writerAs } from './controllers/object-writer.ts';
import type { NodeDescription } from './controllers/memory.ts';
import type { ClusterWorld } from './cluster-world.ts';
import { withDefaults } from './controllers/pods.ts';
import { inZone } from './controllers/volumes.ts';
import type { PodObject, PodSpec, WorkloadObject } from './objects.ts';

/** Builders for the initial objects, as an administrator would create them. */

const writer = (world: ClusterWorld) => writerAs(world, 'admin');

/** A machine with a kubelet. Its Node appears some seconds after the guest runs. */
export const addNode = (
  world: ClusterWorld,
  node: Pick<NodeDescription, 'name' | 'machine' | 'providerID' | 'zone' | 'driver' | 'nodeID' | 'systemUUID'> & {
    readonly labels?: Readonly<Record<string, string>>;
  },
): void => {
  const describes = { ...node, labels: node.labels ?? {} };
  world.parts.cluster.memory.kubelets[node.machine] = {
    describes,
    boot: '',
    started: false,
    registered: false,
    statusWritten: 0,
    pods: {},
  };
  world.schedule('kubelet', 0, node.machine);
};

export interface DiskOfClaim {
  readonly driver: string;
  readonly handle: string;
  readonly zone: string;
  /** The name of the PersistentVolume. By default, it is derived from the claim's name. */
  readonly volume?: string;
  readonly accessModes?: readonly string[];
}

/** Creates a PersistentVolumeClaim that is bound to a PersistentVolume for a disk of the cloud. */
export const addBoundClaim = (world: ClusterWorld, claim: string, disk: DiskOfClaim, namespace = 'default'): void => {
  const volumeName = disk.volume ?? `pvc-${namespace}-${claim}`;
  const accessModes = [...(disk.accessModes ?? ['ReadWriteOnce'])];
  const bound = writer(world).create('persistentvolumeclaims', {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: claim, namespace },
    spec: { volumeName, accessModes },
    status: { phase: 'Bound' },
  });
  const claimRef = { namespace, name: claim, ...(bound && { uid: bound.metadata.uid }) };
  writer(world).create('persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: volumeName },
    spec: {
      csi: { driver: disk.driver, volumeHandle: disk.handle },
      claimRef,
      accessModes,
      nodeAffinity: inZone(disk.zone),
    },
    status: { phase: 'Bound' },
  });
};

/** Creates the default StorageClass, with which the cluster makes disks itself. */
export const addStorageClass = (world: ClusterWorld, provisioner: string): void => {
  writer(world).create('storageclasses', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'standard', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner,
    reclaimPolicy: 'Delete',
  });
};

export interface WorkloadOptions {
  readonly name: string;
  readonly namespace?: string;
  readonly replicas?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  /** The pod fields besides the one container. */
  readonly spec?: Partial<PodSpec>;
}

const containers = [{ name: 'main', image: 'example.org/main:1' }];

const workloadOf = (kind: string, apiVersion: string, options: WorkloadOptions) => ({
  apiVersion,
  kind,
  metadata: { name: options.name, namespace: options.namespace ?? 'default' },
  spec: {
    replicas: options.replicas ?? 1,
    template: {
      metadata: {
        labels: { app: options.name },
        ...(options.annotations && { annotations: { ...options.annotations } }),
      },
      spec: { containers, ...options.spec },
    },
  },
});

const claimed = (claim: string | undefined): Pick<PodSpec, 'volumes'> =>
  claim === undefined ? {} : { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claim } }] };

/** One disk for each replica, in the order of the ordinals. Without disks, there are no claims. */
export const addStatefulSet = (
  world: ClusterWorld,
  options: WorkloadOptions & { readonly disks?: readonly DiskOfClaim[] },
): WorkloadObject | undefined => {
  const disks = options.disks ?? [];
  disks.forEach((disk, ordinal) => addBoundClaim(world, `data-${options.name}-${ordinal}`, disk, options.namespace));
  const draft = workloadOf('StatefulSet', 'apps/v1', { replicas: Math.max(1, disks.length), ...options });
  const volumeClaimTemplates = disks.length > 0 ? [{ metadata: { name: 'data' } }] : [];
  return writer(world).create('statefulsets', {
    ...draft,
    spec: { ...draft.spec, serviceName: options.name, volumeClaimTemplates },
  });
};

/** If set, all replicas share this disk. */
export const addDeployment = (
  world: ClusterWorld,
  options: WorkloadOptions & { readonly disk?: DiskOfClaim; readonly strategy?: 'Recreate' | 'RollingUpdate' },
): WorkloadObject | undefined => {
  const claim = options.disk && `${options.name}-data`;
  if (claim !== undefined && options.disk) addBoundClaim(world, claim, options.disk, options.namespace);
  const draft = workloadOf('Deployment', 'apps/v1', { ...options, spec: { ...claimed(claim), ...options.spec } });
  return writer(world).create('deployments', {
    ...draft,
    spec: { ...draft.spec, strategy: { type: options.strategy ?? 'RollingUpdate' } },
  });
};

/** `tolerateAll` makes it an agent such as a CSI node plugin. */
export const addDaemonSet = (
  world: ClusterWorld,
  options: WorkloadOptions & { readonly tolerateAll?: boolean },
): WorkloadObject | undefined => {
  const tolerations = options.tolerateAll ? { tolerations: [{ operator: 'Exists' as const }] } : {};
  return writer(world).create(
    'daemonsets',
    workloadOf('DaemonSet', 'apps/v1', { ...options, spec: { ...tolerations, ...options.spec } }),
  );
};

export const addJob = (world: ClusterWorld, options: WorkloadOptions): WorkloadObject | undefined =>
  writer(world).create('jobs', workloadOf('Job', 'batch/v1', options));

const podDraft = (options: Omit<WorkloadOptions, 'replicas'>, spec: PodSpec) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: options.name,
    namespace: options.namespace ?? 'default',
    ...(options.annotations && { annotations: { ...options.annotations } }),
  },
  spec: { ...spec, ...options.spec },
  status: { phase: 'Pending' as const },
});

/** Creates a pod that no controller replaces. */
export const addBarePod = (world: ClusterWorld, options: Omit<WorkloadOptions, 'replicas'>): PodObject | undefined => {
  const draft = podDraft(options, { containers });
  return writer(world).create('pods', { ...draft, spec: withDefaults(draft.spec) });
};

/** Creates the mirror pod of a static pod, which tolerates every NoExecute taint. */
export const addMirrorPod = (
  world: ClusterWorld,
  options: Omit<WorkloadOptions, 'replicas'> & { readonly node: string },
): PodObject | undefined => {
  const tolerations = [{ operator: 'Exists' as const, effect: 'NoExecute' }];
  const annotations = { ...options.annotations, 'kubernetes.io/config.mirror': options.name };
  return writer(world).create(
    'pods',
    podDraft({ ...options, annotations }, { containers, tolerations, nodeName: options.node }),
  );
};
