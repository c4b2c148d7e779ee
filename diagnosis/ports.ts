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
import type { NodeFacts } from '../fencing/model/cluster-facts.ts';
import type { CapUse } from '../fencing/model/cap-use.ts';
import type { Policy } from '../fencing/model/policy.ts';

/**
 * The reads of one diagnosis in one cluster. Each asks once and remembers the answer. A read that the credentials do
 * not allow returns `unread`, and `unread()` names it. Nothing is ever written.
 */
export interface ClusterReading {
  readonly pod: (name: ObjectName) => Promise<ReadResult<PodView>>;
  /** The events about an object, latest first. */
  readonly events: (namespace: string, uid: string) => Promise<readonly EventView[]>;
  readonly podsIn: (namespace: string) => Promise<readonly PodView[]>;
  readonly podsOn: (node: string) => Promise<readonly PodView[]>;
  /** All pods of the cluster that name a claim and do not run, or are being deleted. */
  readonly stuckPods: () => Promise<readonly PodView[]>;
  readonly claim: (name: ObjectName) => Promise<ReadResult<PvcView>>;
  readonly volume: (name: string) => Promise<ReadResult<VolumeView>>;
  /** The claims that are not bound, or that are being deleted. Reads the list of all claims. */
  readonly stuckClaims: () => Promise<readonly PvcView[]>;
  /** The PersistentVolumes that are being deleted. Reads the list of all PersistentVolumes. */
  readonly volumesGoing: () => Promise<readonly VolumeView[]>;
  /** Finds the PersistentVolumes of a disk: several may name it. Reads the list of all PersistentVolumes. */
  readonly volumesOn: (isWanted: (volume: VolumeHandle) => boolean) => Promise<readonly VolumeView[] | 'unread'>;
  readonly driver: (name: string) => Promise<ReadResult<DriverView>>;
  readonly attachment: (volume: VolumeHandle, node: string) => Promise<ReadResult<AttachmentView>>;
  /** All attachments of the cluster. */
  readonly attachments: () => Promise<readonly AttachmentView[] | 'unread'>;
  readonly node: (name: string) => Promise<ReadResult<NodeView>>;
  readonly workload: (namespace: string, owner: OwnerView) => Promise<ReadResult<WorkloadView>>;
  readonly attacher: (driver: string) => Promise<ReadResult<AttacherView>>;
  /** The names of the NetworkFences of CSI-Addons. */
  readonly networkFences: () => Promise<readonly string[]>;
  /** What could not be read, one sentence each. */
  readonly unread: () => readonly string[];
}

/** A cluster that can be diagnosed. */
export interface DiagnosedCluster {
  readonly cluster: Pick<Cluster, 'name' | 'find' | 'identify' | 'suspects'>;
  readonly read: (signal: AbortSignal) => Promise<ClusterReading>;
}

/** What a diagnosis asks of the clouds. Both looks throw a `CloudfenceError` if there was no answer. */
export interface DiagnosedCloud {
  readonly rules: Pick<CloudIdentityRules, 'name' | 'machineOf' | 'diskOf'>;
  readonly look: (machines: readonly MachineId[], signal: AbortSignal) => Promise<readonly MachineFacts[]>;
  /** Asks the disks themselves. Returns one entry for each disk that it may ask for. */
  readonly disks: (volumes: readonly VolumeHandle[], signal: AbortSignal) => Promise<readonly DiskView[]>;
}

/** Returns what the error code in a driver's sentence means, or null. Pure. */
export type ReadDriverFault = (sentence: string) => DriverFault | null;

export interface DiagnosisPorts {
  readonly clusters: readonly DiagnosedCluster[];
  readonly cloud: DiagnosedCloud;
  /** Runs the loop for a machine as a dry run, and returns how it ended. */
  readonly rehearse: (machine: MachineId) => Promise<Outcome | null>;
  /** Epoch ms. */
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/** The state of one cluster. */
export interface Standing {
  /** The Nodes that have a taint, a label, or a record of Cloudfence. */
  readonly nodes: readonly NodeFacts[];
  /** Why people paused Cloudfence in this cluster, or null. */
  readonly paused: string | null;
  /** Null if there is no ledger. Without it, nothing is fenced. */
  readonly cap: (CapUse & { readonly override: { readonly until: number; readonly reason: string } | null }) | null;
}

/** Reads the state of one cluster. @throws CloudfenceError */
export type ReadStanding = (cap: Policy['cap'], signal: AbortSignal) => Promise<Standing>;

export interface StatusPorts {
  readonly clusters: readonly { readonly name: string; readonly read: ReadStanding }[];
  readonly policy: Policy;
  readonly machineOf: (source: IdentitySource) => MachineId | null;
  /** Runs a release as a dry run, and returns how it ended. */
  readonly rehearseRelease: (fence: { readonly cluster: string; readonly machine: MachineId }) => Promise<Outcome>;
  /** Epoch ms. */
  readonly now: () => number;
  readonly signal: AbortSignal;
}
