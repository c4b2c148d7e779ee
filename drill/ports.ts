import type { AttachmentFacts, NodeFacts } from '../fencing/model/cluster-facts.ts';
import type { MachineId, MachineTarget, VolumeHandle } from '../fencing/model/machine.ts';
import type { CapUse } from '../fencing/model/cap-use.ts';
import type { Policy } from '../fencing/model/policy.ts';
import type { Permit } from '../fencing/model/permit.ts';

/** What a drill needs from a cloud and a cluster in addition to the two interfaces of fencing. */

/** A reason why the machine would come back changed, or not at all. */
export interface Hazard {
  readonly says: string;
  readonly remedy: string;
  /**
   * The group that would replace the machine. A person who has suspended the group can confirm that. Null for other
   * hazards.
   */
  readonly group: string | null;
}

/** What the cloud says about the machine of a drill. */
export interface DrilledMachine {
  readonly hazards: readonly Hazard[];
  /**
   * The names that the cloud itself gives the machine, under which its Node may be registered. A name that only repeats
   * the machine's id is left out, because it does not confirm a Node.
   */
  readonly nodeNames: readonly string[];
  /** The command that starts the machine by hand. */
  readonly startCommand: string;
  /** The calls of the drill, under the cloud's names. */
  readonly calls: readonly string[];
  /** The address of a stand-in for the cloud, or null. */
  readonly standIn: string | null;
}

export interface DrillCloud {
  /** @throws Unavailable, PermissionDenied, Refused */
  readonly inspect: (target: MachineTarget, signal: AbortSignal) => Promise<DrilledMachine>;
  /**
   * Starts exactly this machine. Returns once the cloud has accepted the call.
   *
   * @throws Unavailable, PermissionDenied, Refused, ProofExpired
   */
  readonly start: (target: MachineTarget, permit: Permit, signal: AbortSignal) => Promise<void>;
}

/** A pod on the Node that a drill would stop, without the pods that stay with their Node. */
export interface NeighborPod {
  /** `namespace/name`. */
  readonly name: string;
  /** Names of its volumes that remain after the pod, such as claims. */
  readonly disks: readonly string[];
  /** Whether no controller would recreate it. */
  readonly bare: boolean;
}

export interface StorageClassFacts {
  readonly name: string;
  /** False if the class keeps the disk of a deleted claim. */
  readonly deletesDisks: boolean;
}

/** Where the canary runs, and its settings. */
export interface CanaryOptions {
  readonly namespace: string;
  readonly image: string;
  /** Null for the default class of the cluster. */
  readonly storageClass: string | null;
}

export interface PlacedCanary extends CanaryOptions {
  /** The Node of the drill. */
  readonly node: string;
  /** The name by which the pod prefers this Node. */
  readonly hostname: string;
  /** The drill that creates it. */
  readonly drill: string;
}

/** Facts about a Node that only a drill needs. */
export interface DrilledNode {
  /** Whether the Node has the label that allows drills. */
  readonly allowed: boolean;
  /** The name by which a pod can prefer the Node, or null. */
  readonly hostname: string | null;
  /** What prevents new pods on the Node: taints, and a cordon. */
  readonly barred: readonly string[];
  /** The pods that a fence would delete. The canary is not included. */
  readonly pods: readonly NeighborPod[];
  /** Names of the attachments to the Node, without those of the canary. */
  readonly attachments: readonly string[];
  /** Other Nodes of its zone on which the canary can run. */
  readonly spares: readonly string[];
  /** Null if the class does not exist, or if the cluster has no default class. */
  readonly storageClass: StorageClassFacts | null;
  /** How much of the cap is used, and whether a person has overridden it. Null if the cluster has no ledger. */
  readonly cap: (CapUse & { readonly isOverridden: boolean }) | null;
  /** Objects that another drill has left behind. */
  readonly leftovers: readonly string[];
  /** The drill that has reserved the Node, or null. */
  readonly reservedBy: string | null;
}

export interface CanaryPod {
  readonly uid: string;
  readonly node: string | null;
  readonly ready: boolean;
  readonly deleting: boolean;
  /** What the pod waits for, in Kubernetes' words, or null. */
  readonly waits: string | null;
}

export interface CanaryView {
  readonly pod: CanaryPod | null;
  readonly volume: (VolumeHandle & { readonly persistentVolume: string }) | null;
  /** The volume's attachments to the given Node and to the Node of the pod. */
  readonly here: AttachmentFacts | null;
  readonly there: AttachmentFacts | null;
}

export interface InspectRequest {
  readonly canary: CanaryOptions;
  /** The drill whose canary may exist, or null. Any other canary is a leftover. */
  readonly own: string | null;
  readonly cap: Policy['cap'];
}

/** Every method throws a `CloudfenceError`. */
export interface DrillCluster {
  readonly inspect: (node: string, request: InspectRequest, signal: AbortSignal) => Promise<DrilledNode | null>;
  /**
   * Reserves the Node for one drill, even if the canary of another drill exists elsewhere.
   *
   * @throws Refused if another drill has reserved it, or if it is no longer the Node with this uid
   */
  readonly reserve: (node: ReservedNode, signal: AbortSignal) => Promise<void>;
  /** Ends the reservation, unless the Node is gone or another drill has reserved it. */
  readonly free: (node: Omit<ReservedNode, 'uid'>, signal: AbortSignal) => Promise<void>;
  /** The command that ends a reservation by hand. */
  readonly freeCommand: (node: string) => string;
  /** Creates the canary, which prefers its Node. */
  readonly create: (canary: PlacedCanary, signal: AbortSignal) => Promise<void>;
  readonly canary: (canary: CanaryOptions, node: string, signal: AbortSignal) => Promise<CanaryView>;
  readonly node: (name: string, signal: AbortSignal) => Promise<NodeFacts | null>;
  /**
   * Requests the deletion of everything that `create` created for this drill, and describes what still exists. Objects
   * of another drill with the same names are kept.
   */
  readonly remove: (
    canary: Pick<PlacedCanary, 'namespace' | 'drill'>,
    volume: CanaryView['volume'],
    signal: AbortSignal,
  ) => Promise<readonly string[]>;
  /** The command that removes the canary of one drill, or of any drill if `drill` is null. */
  readonly removeCommand: (canary: Pick<CanaryOptions, 'namespace'>, drill: string | null) => string;
  /** The command that allows drills on a Node. */
  readonly allowCommand: (node: string) => string;
}

export interface ReservedNode {
  readonly name: string;
  readonly uid: string;
  readonly drill: string;
}

export interface DrillTarget {
  readonly node: string;
  readonly machine: MachineId;
}
