import type {
  AttachmentFacts,
  ConnectivitySurvey,
  ClusterFacts,
  NodeFacts,
  Recheck,
  VolumeLeft,
} from './cluster-facts.ts';
import type { Admission, CapReservation, EndedFence } from './ledger.ts';
import type { IdentitySource, MachineId } from './machine.ts';
import type { Permit } from './permit.ts';
import type { FenceRecord } from './record.ts';
import type { ClusterStep, PodTarget } from './steps.ts';

/** How to recognize a machine in a cluster without knowledge of its cloud. */
export interface NodeQuery {
  readonly machine: MachineId;
  /** Names to try first, likeliest first. */
  readonly nodeNames: readonly string[];
  /** Returns the machine that an identity source names, according to the provider. */
  readonly machineOf: (source: IdentitySource) => MachineId | null;
}

export interface LookRequest {
  readonly query: NodeQuery;
  /** The Node that `find` named, or null for a machine whose Node is gone. */
  readonly node: string | null;
  /**
   * Whether to look at that Node only. If that Node does not exist or does not name the machine, the look returns no
   * Node, and does not search.
   */
  readonly nodeOnly?: boolean;
  /** Whether a reservation may follow immediately. The look then also reads what the reservation needs. */
  readonly beforeReservation?: boolean;
  /** The record that an earlier look of this run read from a Node that may be gone by now. */
  readonly remembered: FenceRecord | null;
  /** Keys of the volumes whose new attachments are also read. */
  readonly successorsOf: readonly string[];
  /**
   * Whether to search the list of all attachments for this Node, because the Node's status does not explain every disk
   * of the machine.
   */
  readonly search?: boolean;
  /**
   * Names of the machine's Node. If no Node with these names exists, the look also returns attachments to these names
   * that name no machine. The caller must then find out to which machine they belong.
   */
  readonly named?: readonly string[];
  /**
   * Attachments that are known to name the machine, or a Node that had its name, while no Node names the machine. The
   * look reads each of them by name instead of listing all attachments.
   */
  readonly attachments?: readonly string[];
  /**
   * Volumes that earlier looks of this run have found without a Node. The look also returns those whose attachments are
   * gone.
   */
  readonly volumesLeft?: readonly VolumeLeft[];
}

/** The result of a step: `done`, or `already` if nothing had to be changed. Both mean success. */
export type StepResult = 'done' | 'already';

/**
 * The interface of a cluster that fencing needs. Every method throws a `CloudfenceError`: `Unavailable` or
 * `PermissionDenied` if there was no answer, `Refused` if a precondition no longer held. An object is absent only if
 * the API server said so.
 */
export interface Cluster {
  readonly name: string;

  /**
   * Returns the names of all Nodes that carry the machine's id. It may look at only a part of the Nodes. If the Node's
   * name is guessed correctly, the cost does not depend on the size of the cluster.
   */
  readonly find: (query: NodeQuery, signal: AbortSignal) => Promise<readonly string[]>;

  /** Returns everything on a Node that may name its machine, or null if the Node does not exist. */
  readonly identify: (node: string, signal: AbortSignal) => Promise<readonly IdentitySource[] | null>;

  readonly look: (request: LookRequest, signal: AbortSignal) => Promise<ClusterFacts>;

  /** Reads the Node's uid, record, taints, and Lease live. The uid is null if the Node is gone. */
  readonly recheck: (node: string, signal: AbortSignal) => Promise<Recheck>;

  /** Reads the attachment with this name live, or returns null if it does not exist. */
  readonly attachment: (name: string, signal: AbortSignal) => Promise<AttachmentFacts | null>;

  /** Applies one step. Checks `permit` right before the request leaves. */
  readonly apply: (step: ClusterStep, permit: Permit, signal: AbortSignal) => Promise<StepResult>;

  /** Records an Event for people, even if its object is gone. */
  readonly recordEvent: (about: EventSubject, event: ClusterEvent, signal: AbortSignal) => Promise<void>;

  /**
   * Returns which Nodes have a Lease older than `staleFor` ms, which share the zone of `node`, and which name the
   * machine. Reads every Node.
   */
  readonly surveyConnectivity: (
    node: string,
    staleFor: number,
    query: Pick<NodeQuery, 'machine' | 'machineOf'>,
    signal: AbortSignal,
  ) => Promise<ConnectivitySurvey>;

  /**
   * Adds a fence to the ledger before it begins, if the cap allows it. Concurrent reservations never exceed the cap:
   * the one that was committed first counts.
   */
  readonly reserve: (wanted: CapReservation, signal: AbortSignal) => Promise<Admission>;

  /** Marks the fence of the machine's boot as finished in its ledger entry, if there is one. */
  readonly conclude: (ended: EndedFence, signal: AbortSignal) => Promise<void>;

  /**
   * Marks every fence in the ledger as finished that has left no trace in the cluster. `showing` are the machines that
   * may have an unfinished fence, as the cluster showed at `readAt` (epoch ms).
   */
  readonly concludeUnless: (showing: readonly MachineId[], readAt: number, signal: AbortSignal) => Promise<void>;

  /**
   * Returns Nodes for which an event may have been missed. Reads each list once, in pages, in a cluster of any size.
   */
  readonly suspects: (staleFor: number, signal: AbortSignal) => Promise<readonly SuspectNode[]>;
}

/** The object of an Event. The uid of a Node is null if it is not known. */
export type EventSubject =
  | { readonly kind: 'Node'; readonly name: string; readonly uid: string | null }
  | ({ readonly kind: 'Pod' } & PodTarget);

export interface ClusterEvent {
  readonly type: 'Normal' | 'Warning';
  /** One word in CamelCase, for machines. */
  readonly reason: string;
  readonly message: string;
}

export interface SuspectNode {
  /** `labelled`: the Node has no fence, but one of our labels is left: a tombstone, or the note of a stop. */
  readonly because: 'lease-stale' | 'fenced' | 'labelled' | 'node-missing';
  /** The Node, or the Node that a leftover attachment names. */
  readonly node: string;
  /** What names the machine. Empty if only the Node itself names it. */
  readonly identitySources: readonly IdentitySource[];
  /** The fence's record, if there is one. */
  readonly record: FenceRecord | null;
  /** The Node as listed, if it has our out-of-service taint. Null otherwise. */
  readonly marked: NodeFacts | null;
  /** Names of the attachments to a Node that is missing or fenced. Empty for other Nodes. */
  readonly attachments: readonly string[];
}
