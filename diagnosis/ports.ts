import type { Cluster } from '../fencing/model/cluster.ts';
import type { CloudIdentityRules } from '../fencing/model/cloud.ts';
import type { MachineFacts, MachineId, VolumeHandle, IdentitySource } from '../fencing/model/machine.ts';
import type { Outcome } from '../fencing/model/outcome.ts';
import type {
  AttachmentView,
  AttacherView,
  PvcView,
  DiskView,
  DriverFault,
  DriverView,
  EventView,
  NodeView,
  ObjectName,
  OwnerView,
  PodView,
  ReadResult,
  VolumeView,
  WorkloadView,
} from './model/facts.ts';
import type { ShortWorkloadView } from './model/without-pod.ts';
import type { NodeFacts } from '../fencing/model/cluster-facts.ts';
import type { CapUse } from '../fencing/model/cap-use.ts';
import type { Policy } from '../fencing/model/policy.ts';

/**
 * The reads of one diagnosis in one cluster. Each read is made once, and its answer is cached. A read without
 * permission returns `unread`, and `unread()` reports it. The diagnosis never writes.
 */
export interface DiagnosisReading {
  readonly pod: (name: ObjectName) => Promise<ReadResult<PodView>>;
  /** Returns the events about an object, latest first. */
  readonly events: (namespace: string, uid: string) => Promise<readonly EventView[]>;
  readonly podsIn: (namespace: string) => Promise<readonly PodView[]>;
  readonly podsOn: (node: string) => Promise<readonly PodView[]>;
  /** Returns all pods of the cluster that name a claim and either do not run or are being deleted. */
  readonly stuckPods: () => Promise<readonly PodView[]>;
  readonly claim: (name: ObjectName) => Promise<ReadResult<PvcView>>;
  readonly volume: (name: string) => Promise<ReadResult<VolumeView>>;
  /** Returns the claims that are not bound or are being deleted. Reads the list of all claims. */
  readonly stuckClaims: () => Promise<readonly PvcView[]>;
  /** Returns the PersistentVolumes that are being deleted. Reads the list of all PersistentVolumes. */
  readonly volumesGoing: () => Promise<readonly VolumeView[]>;
  /**
   * Returns the PersistentVolumes of a disk. Several may name the same disk. Reads the list of all PersistentVolumes.
   */
  readonly volumesOn: (isWanted: (volume: VolumeHandle) => boolean) => Promise<readonly VolumeView[] | 'unread'>;
  readonly driver: (name: string) => Promise<ReadResult<DriverView>>;
  readonly attachment: (volume: VolumeHandle, node: string) => Promise<ReadResult<AttachmentView>>;
  /** Returns all attachments of the cluster. */
  readonly attachments: () => Promise<readonly AttachmentView[] | 'unread'>;
  readonly node: (name: string) => Promise<ReadResult<NodeView>>;
  readonly workload: (namespace: string, owner: OwnerView) => Promise<ReadResult<WorkloadView>>;
  /**
   * Returns the workloads whose pods have claims, and that have fewer pods than they should have. Reads the lists of
   * all StatefulSets, Deployments, and Jobs.
   */
  readonly shortWorkloads: () => Promise<readonly ShortWorkloadView[]>;
  readonly attacher: (driver: string) => Promise<ReadResult<AttacherView>>;
  /** Returns the names of the NetworkFences of CSI-Addons. */
  readonly networkFences: () => Promise<readonly string[]>;
  /** Returns what could not be read, one sentence each. */
  readonly unread: () => readonly string[];
}

/** A cluster that can be diagnosed. */
export interface DiagnosedCluster {
  readonly cluster: Pick<Cluster, 'name' | 'find' | 'identify' | 'suspects'>;
  readonly read: (signal: AbortSignal) => Promise<DiagnosisReading>;
}

/** The reads of the clouds that a diagnosis needs. Both throw a `CloudfenceError` if there was no answer. */
export interface DiagnosedCloud {
  readonly rules: Pick<CloudIdentityRules, 'name' | 'machineOf' | 'diskOf'>;
  readonly look: (machines: readonly MachineId[], signal: AbortSignal) => Promise<readonly MachineFacts[]>;
  /** Reads the disks themselves. Returns one entry for each disk that may be read. */
  readonly disks: (volumes: readonly VolumeHandle[], signal: AbortSignal) => Promise<readonly DiskView[]>;
}

/** Returns the meaning of the error code in a driver's message, or null. Pure. */
export type ReadDriverFault = (sentence: string) => DriverFault | null;

/** Ends the calls to one cluster in time, even if it never answers. @throws Unavailable at that time */
export type EndInTime = <T>(call: () => Promise<T>) => Promise<T>;

export interface DiagnosisPorts {
  readonly clusters: readonly DiagnosedCluster[];
  readonly cloud: DiagnosedCloud;
  /** Runs a dry run of the loop for a machine, and returns its outcome. */
  readonly rehearse: (machine: MachineId) => Promise<Outcome | null>;
  /** Epoch ms. */
  readonly now: () => number;
  readonly inTime: EndInTime;
  readonly signal: AbortSignal;
}

/** The state of one cluster. */
export interface ClusterStanding {
  /** The Nodes with a taint, a label, or a record of Cloudfence. */
  readonly nodes: readonly NodeFacts[];
  /** The reason of a pause in this cluster, or null. */
  readonly paused: string | null;
  /** Null if there is no ledger. Without a ledger, Cloudfence does not fence. */
  readonly cap: (CapUse & { readonly override: { readonly until: number; readonly reason: string } | null }) | null;
}

/** Reads the state of one cluster. @throws CloudfenceError */
export type ReadClusterStanding = (cap: Policy['cap'], signal: AbortSignal) => Promise<ClusterStanding>;

export interface StatusPorts {
  readonly clusters: readonly { readonly name: string; readonly read: ReadClusterStanding }[];
  readonly policy: Policy;
  readonly machineOf: (source: IdentitySource) => MachineId | null;
  /** Runs a dry run of a release, and returns its outcome. */
  readonly rehearseRelease: (fence: { readonly cluster: string; readonly machine: MachineId }) => Promise<Outcome>;
  /** Epoch ms. */
  readonly now: () => number;
  readonly inTime: EndInTime;
  readonly signal: AbortSignal;
}
