/** The memory of the control plane and the kubelets. It is plain data, so that a fork copies it. */

export interface NodeDescription {
  readonly name: string;
  /** The id of the machine in its cloud. */
  readonly machine: string;
  /** The id that the CSI driver's node plugin reports instead, if it differs. */
  readonly nodeID?: string;
  /** The system UUID that the guest reads, if the cloud provides one. */
  readonly systemUUID?: string;
  readonly providerID: string;
  readonly driver: string;
  readonly zone: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The guest's own view of a pod, which can differ from the API server's. */
export interface GuestPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  stage: 'waiting' | 'starting' | 'running' | 'stopping' | 'stopped';
  volumes: { readonly unique: string; readonly handle: string }[];
}

export interface KubeletMemory {
  readonly describes: NodeDescription;
  /** The boot of this kubelet; empty before the first one. */
  boot: string;
  /** Whether the process runs and has reported this boot on its Node. */
  started: boolean;
  registered: boolean;
  statusWritten: number;
  pods: Record<string, GuestPod>;
}

export interface NodeHealth {
  /** The last known Lease and heartbeat, and when they last changed. */
  seen: string;
  since: number;
}

export interface Eviction {
  readonly namespace: string;
  readonly name: string;
  /** When the pod first did not tolerate the taints forever. */
  readonly since: number;
  fires: number;
  stage: 'timed' | 'begun' | 'done';
  tries: number;
}

/** One entry of attach-detach's actual state of the world. */
export interface AttachedVolume {
  readonly unique: string;
  readonly node: string;
  readonly volume: string;
  /** False after a failed operation, when it is unknown whether the volume is attached. */
  confirmed: boolean;
  reported: boolean;
  detachRequested: number | null;
}

export interface VolumeOperation {
  kind: 'attach' | 'detach';
  unique: string;
  node: string;
  volume: string;
  pending: boolean;
  began: number;
  /** When attach-detach checks the progress next, and how long it waits after that. */
  looksAt: number;
  pause: number;
  retryAt: number;
  wait: number;
}

export interface AttacherWork {
  stage: 'idle' | 'batching' | 'polling';
  kind: 'attach' | 'detach';
  began: number;
  dirty: boolean;
  /** Whether it has patched the attachment before the call in progress. */
  prepared: boolean;
  failures: number;
  seen: string;
}

export interface ControllerMemory {
  kubelets: Record<string, KubeletMemory>;
  nodeHealth: Record<string, NodeHealth>;
  /** The Nodes that wait for their NoExecute taint, by zone, and when each zone's limiter releases the next one. */
  taintQueue: Record<string, string[]>;
  taintNotBefore: Record<string, number>;
  evictions: Record<string, Eviction>;
  podGcQuarantine: Record<string, number>;
  attached: Record<string, AttachedVolume>;
  operations: Record<string, VolumeOperation>;
  multiAttachTold: Record<string, true>;
  volumesInUse: Record<string, string[]>;
  attacher: Record<string, AttacherWork>;
  /** The pod that runs the external-attacher, and the expiry of its leader lease. */
  attacherLeader: { uid: string; until: number };
}

export const emptyMemory = (): ControllerMemory => ({
  kubelets: {},
  nodeHealth: {},
  taintQueue: {},
  taintNotBefore: {},
  evictions: {},
  podGcQuarantine: {},
  attached: {},
  operations: {},
  multiAttachTold: {},
  volumesInUse: {},
  attacher: {},
  attacherLeader: { uid: '', until: 0 },
});

/** The settings that a test can change. */
export interface SimulationSettings {
  cloudController: boolean;
  disableForceDetachOnTimeout: boolean;
  /** kube-controller-manager's --node-monitor-grace-period: 50 s since 1.32. */
  monitorGraceMs: number;
  attacherDown: boolean;
  /**
   * `namespace/name` of the Deployment whose pods run the external-attacher; empty when it runs outside the cluster.
   */
  attacherDeployment: string;
  /** The names of Nodes whose guest runs but cannot reach the API server. */
  partitioned: string[];
  /** Whether a shutdown of the guest ends its kubelet at once, or only when the guest is off. */
  shutdownKillsKubelet: 'early' | 'late';
  /** The time for unmounting after the containers have ended. A database that flushes its data is slow. */
  unmountMs: number;
}

export const defaultKnobs = (): SimulationSettings => ({
  cloudController: false,
  disableForceDetachOnTimeout: false,
  monitorGraceMs: 50_000,
  attacherDown: false,
  attacherDeployment: '',
  partitioned: [],
  shutdownKillsKubelet: 'late',
  unmountMs: 0,
});
