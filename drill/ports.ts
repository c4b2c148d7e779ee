import type { AttachmentFacts, NodeFacts } from '../fencing/model/cluster-facts.ts';
import type { MachineId, MachineTarget, VolumeHandle } from '../fencing/model/machine.ts';
import type { CapUse } from '../fencing/model/cap-use.ts';
import type { Policy } from '../fencing/model/policy.ts';
import type { Permit } from '../fencing/model/permit.ts';

/** What a drill needs from a cloud and a cluster in addition to the two interfaces of fencing. */

/** A reason why this machine would not come back as it was, or not at all. */
export interface Hazard {
  readonly says: string;
  readonly remedy: string;
  /** The group that would replace the machine. A person who has suspended the group may say so. Null for other hazards. */
  readonly group: string | null;
}

/** What the cloud says about a machine that a drill would stop. */
export interface DrilledMachine {
  readonly hazards: readonly Hazard[];
  /**
   * The names that the cloud itself gives to the machine, and by which its Node may be registered. A name that only
   * repeats the machine's id says nothing about a Node.
   */
  readonly nodeNames: readonly string[];
  /** The command with which a person starts the machine. */
  readonly startCommand: string;
  /** The calls that the drill makes, as the cloud names them. */
  readonly calls: readonly string[];
  /** The address that takes the place of the cloud, or null. */
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
  /** Names of its volumes that outlive the pod, such as claims. */
  readonly disks: readonly string[];
  /** No controller creates it again. */
  readonly bare: boolean;
}

export interface StorageClassFacts {
  readonly name: string;
  /** False if the class keeps the disk of a deleted claim. */
  readonly deletesDisks: boolean;
}

/** Where the canary runs, and from what it is made. */
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
  /** The drill that makes it. */
  readonly drill: string;
}

/** What the cluster says about a Node in addition to what a fence reads. */
export interface DrillScene {
  /** The user has allowed drills on the Node by its label. */
  readonly allowed: boolean;
  /** The name by which a pod can prefer the Node, or null. */
  readonly hostname: string | null;
  /** What keeps new pods off the Node: taints, and a cordon. */
  readonly barred: readonly string[];
  /** The pods that a fence would delete. Contains no canary. */
  readonly pods: readonly NeighborPod[];
  /** Names of the attachments to the Node, without those of the canary. */
  readonly attachments: readonly string[];
  /** Other Nodes of its zone on which the canary can run. */
  readonly spares: readonly string[];
  /** Null if the class does not exist, or if the cluster has no default class. */
  readonly storageClass: StorageClassFacts | null;
  /** How much of the cap is used, and whether a person has overridden it. Null if the cluster has no ledger. */
  readonly cap: (CapUse & { readonly isOverridden: boolean }) | null;
  /** What another drill, or a part of one, has left. */
  readonly leftovers: readonly string[];
  /** The drill that has reserved the Node, or null. */
  readonly reservedBy: string | null;
}

export interface CanaryPod {
  readonly uid: string;
  readonly node: string | null;
  readonly ready: boolean;
  readonly deleting: boolean;
  /** What it waits for, in the words of Kubernetes, or null. */
  readonly waits: string | null;
}

export interface CanaryView {
  readonly pod: CanaryPod | null;
  readonly volume: (VolumeHandle & { readonly persistentVolume: string }) | null;
  /** The volume's attachment to the Node that is asked about, and to the Node of the pod. */
  readonly here: AttachmentFacts | null;
  readonly there: AttachmentFacts | null;
}

export interface SceneRequest {
  readonly canary: CanaryOptions;
  /** The drill whose canary may be there, or null. Any other canary is a leftover. */
  readonly own: string | null;
  readonly cap: Policy['cap'];
}

/** Every method throws a `CloudfenceError`. */
export interface DrillCluster {
  readonly inspect: (node: string, request: SceneRequest, signal: AbortSignal) => Promise<DrillScene | null>;
  /**
   * Reserves the Node for one drill, wherever the canary of another one is.
   *
   * @throws Refused if another drill has reserved it, or if it is no longer the Node with this uid
   */
  readonly reserve: (node: ReservedNode, signal: AbortSignal) => Promise<void>;
  /** Ends the reservation, unless the Node is gone or another drill has reserved it by now. */
  readonly free: (node: Omit<ReservedNode, 'uid'>, signal: AbortSignal) => Promise<void>;
  /** The command with which a person ends a reservation. */
  readonly freeCommand: (node: string) => string;
  /** Creates the canary, which prefers its Node. */
  readonly create: (canary: PlacedCanary, signal: AbortSignal) => Promise<void>;
  readonly canary: (canary: CanaryOptions, node: string, signal: AbortSignal) => Promise<CanaryView>;
  readonly node: (name: string, signal: AbortSignal) => Promise<NodeFacts | null>;
  /**
   * Asks for the deletion of everything that `create` made for this drill, and returns what is still there, in words.
   * What another drill has made by the same names stays.
   */
  readonly remove: (
    canary: Pick<PlacedCanary, 'namespace' | 'drill'>,
    volume: CanaryView['volume'],
    signal: AbortSignal,
  ) => Promise<readonly string[]>;
  /** The command with which a person removes the canary of one drill, or of any if `drill` is null. */
  readonly removeCommand: (canary: Pick<CanaryOptions, 'namespace'>, drill: string | null) => string;
  /** The command with which a person allows drills on a Node. */
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
