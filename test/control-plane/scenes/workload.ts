import { anyVolume, claimSpec, ZONE_LABEL } from './volume.ts';

/** A workload of a scene: a manifest, and where it is posted. */
export interface Workload {
  /** The API's path before the namespace. */
  readonly group: string;
  readonly plural: string;
  readonly manifest: (zone: string) => object;
}

/** The properties of a pod that matter for a fence of its node. */
export interface PodShape {
  readonly claims?: readonly string[];
  /** Claims whose volume it uses as a raw device. */
  readonly devices?: readonly string[];
  readonly metadata?: object;
  /** The rest of its spec. Its one container is the first argument. */
  readonly spec?: (container: object) => object;
}

const WORK = { name: 'work', image: 'example.org/work:1' };

const specOf = (zone: string, { claims = [], devices = [], spec = () => ({}) }: PodShape) => {
  const container = {
    ...WORK,
    volumeMounts: claims.map((name) => ({ name, mountPath: `/${name}` })),
    volumeDevices: devices.map((name) => ({ name, devicePath: `/dev/${name}` })),
  };
  return {
    nodeSelector: { [ZONE_LABEL]: zone },
    volumes: [...claims, ...devices].map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
    containers: [container],
    ...spec(container),
  };
};

const labels = (app: string) => ({ app });

const replicated = (zone: string, name: string, shape: PodShape) => ({
  selector: { matchLabels: labels(name) },
  template: { metadata: { labels: labels(name), ...shape.metadata }, spec: specOf(zone, shape) },
});

const APPS = '/apis/apps/v1';

/** Each replica has its own existing claim: `data-NAME-0` and so on. */
export const statefulSet = (name: string, shape: PodShape = {}, replicas = 1): Workload => ({
  group: APPS,
  plural: 'statefulsets',
  manifest: (zone) => ({
    metadata: { name },
    spec: {
      replicas,
      serviceName: name,
      podManagementPolicy: 'Parallel',
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claimSpec(anyVolume) }],
      ...replicated(zone, name, shape),
    },
  }),
});

export const deployment = (
  name: string,
  strategy: 'Recreate' | 'RollingUpdate',
  shape: PodShape,
  replicas = 1,
): Workload => ({
  group: APPS,
  plural: 'deployments',
  manifest: (zone) => ({
    metadata: { name },
    spec: { replicas, strategy: { type: strategy }, ...replicated(zone, name, shape) },
  }),
});

export const daemonSet = (name: string, shape: PodShape = {}): Workload => ({
  group: APPS,
  plural: 'daemonsets',
  manifest: (zone) => ({ metadata: { name }, spec: replicated(zone, name, shape) }),
});

/** Runs one pod until it ends, and another one if it has failed. */
export const job = (name: string, shape: PodShape = {}): Workload => ({
  group: '/apis/batch/v1',
  plural: 'jobs',
  manifest: (zone) => ({
    metadata: { name },
    spec: { template: { spec: { ...specOf(zone, shape), restartPolicy: 'Never' } } },
  }),
});

/** A pod that nothing recreates. */
export const lonePod = (name: string, shape: PodShape = {}): Workload => ({
  group: '/api/v1',
  plural: 'pods',
  manifest: (zone) => ({ metadata: { name, ...shape.metadata }, spec: specOf(zone, shape) }),
});

/**
 * Forbids the eviction of a pod of that name.
 * https://kubernetes.io/docs/tasks/run-application/configure-pdb/
 */
export const noDisruption = (name: string): Workload => ({
  group: '/apis/policy/v1',
  plural: 'poddisruptionbudgets',
  manifest: () => ({ metadata: { name }, spec: { maxUnavailable: 0, selector: { matchLabels: labels(name) } } }),
});

/**
 * The taint that a pod may tolerate.
 * https://kubernetes.io/docs/reference/labels-annotations-taints/#node-kubernetes-io-out-of-service
 */
export const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

/** On this node, whatever the scheduler decides. */
export const on = (nodeName: string) => () => ({ nodeName });

/** On this node only, as far as the scheduler allows. */
export const onlyOn = (hostname: string) => ({ nodeSelector: { 'kubernetes.io/hostname': hostname } });

/** Never two of them on one node. */
export const apart = (name: string) => () => ({
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { labelSelector: { matchLabels: labels(name) }, topologyKey: 'kubernetes.io/hostname' },
      ],
    },
  },
});

export const tolerating = (key: string) => () => ({ tolerations: [{ key, operator: 'Exists' }] });

export const toleratingAll = () => ({ tolerations: [{ operator: 'Exists' }] });

/**
 * Takes its whole grace period to end.
 * https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/
 */
export const endingSlowly = (seconds: number) => (container: object) => ({
  terminationGracePeriodSeconds: seconds,
  containers: [{ ...container, lifecycle: { preStop: { sleep: { seconds } } } }],
});

/**
 * A volume of that class that is created and deleted with the pod.
 * https://kubernetes.io/docs/concepts/storage/ephemeral-volumes/#generic-ephemeral-volumes
 */
export const ephemeral = (storageClassName: string) => ({
  volumes: [
    { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: claimSpec({ ...anyVolume, storageClassName }) } } },
  ],
});
