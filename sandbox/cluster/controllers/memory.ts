/** What the control plane and the kubelets keep in their own memory: plain data, so that a fork copies it. */

export interface NodeDescription {
  readonly name: string;
  /** The machine's id in its cloud. */
  readonly machine: string;
  /** What the CSI driver's node plugin reports in its place, where that is another. */
  readonly nodeID?: string;
  /** What the guest reads as its own, where the cloud gives it one. */
  readonly systemUUID?: string;
  readonly providerID: string;
  readonly driver: string;
  readonly zone: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** A pod as the guest knows it, whatever the API server says meanwhile. */
export interface GuestPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  stage: 'waiting' | 'starting' | 'running' | 'stopping' | 'stopped';
  volumes: { readonly unique: string; readonly handle: string }[];
}

export interface KubeletMemory {
  readonly describes: NodeDescription;
  /** The boot that this kubelet belongs to; empty before the first. */
  boot: string;
  /** Its process is up; it has reported this boot on its Node. */
  started: boolean;
  registered: boolean;
  statusWritten: number;
  pods: Record<string, GuestPod>;
}

export interface NodeHealth {
  /** Lease and heartbeat as last seen, and when they were last seen to change. */
  seen: string;
  since: number;
}

export interface Eviction {
  readonly namespace: string;
  readonly name: string;
  /** When the taints were first found not tolerated for ever. */
  readonly since: number;
  fires: number;
  stage: 'timed' | 'begun' | 'done';
  tries: number;
}

/** One line of attach-detach's actual state of the world. */
export interface AttachedVolume {
  readonly unique: string;
  readonly node: string;
  readonly volume: string;
  /** False after a failed operation: the volume may or may not be attached. */
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
  /** When attach-detach next looks how far it is, and how long it then waits before the look after that. */
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
  /** It has patched the attachment itself before the call that is under way. */
  prepared: boolean;
  failures: number;
  seen: string;
}

export interface ControllerMemory {
  kubelets: Record<string, KubeletMemory>;
  nodeHealth: Record<string, NodeHealth>;
  /** Nodes waiting for their NoExecute taint, by zone; and when each zone's limiter lets the next one through. */
  taintQueue: Record<string, string[]>;
  taintNotBefore: Record<string, number>;
  evictions: Record<string, Eviction>;
  podGcQuarantine: Record<string, number>;
  attached: Record<string, AttachedVolume>;
  operations: Record<string, VolumeOperation>;
  multiAttachTold: Record<string, true>;
  volumesInUse: Record<string, string[]>;
  attacher: Record<string, AttacherWork>;
  /** The pod that runs the external-attacher, and until when its leader lease holds. */
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

/** What a test may turn. */
export interface Knobs {
  cloudController: boolean;
  disableForceDetachOnTimeout: boolean;
  /** kube-controller-manager's --node-monitor-grace-period: 50 s since 1.32. */
  monitorGraceMs: number;
  attacherDown: boolean;
  /**
   * `namespace/name` of the Deployment whose pods run the external-attacher; empty when it runs outside the cluster.
   */
  attacherDeployment: string;
  /** Names of Nodes whose guest lives on while nothing of it reaches the API server. */
  partitioned: string[];
  /** Whether a guest that shuts down ends its kubelet at once, or keeps it until it is off. */
  shutdownKillsKubelet: 'early' | 'late';
  /** Time that unmounting takes on top of ending the containers: a database that flushes is slow. */
  unmountMs: number;
}

export const defaultKnobs = (): Knobs => ({
  cloudController: false,
  disableForceDetachOnTimeout: false,
  monitorGraceMs: 50_000,
  attacherDown: false,
  attacherDeployment: '',
  partitioned: [],
  shutdownKillsKubelet: 'late',
  unmountMs: 0,
});
