import type { AttachmentFacts, ConnectivitySurvey, ClusterFacts, NodeFacts, Recheck } from './cluster-facts.ts';
import type { Admission, CapReservation } from './ledger.ts';
import type { IdentitySource, MachineId } from './machine.ts';
import type { Permit } from './permit.ts';
import type { FenceRecord } from './record.ts';
import type { ClusterStep, PodTarget } from './steps.ts';

/** How to recognize one machine in a cluster without knowing its cloud. */
export interface NodeQuery {
  readonly machine: MachineId;
  /** Names to try first, likeliest first. */
  readonly nodeNames: readonly string[];
  /** The provider's reading of an identity source. */
  readonly machineOf: (source: IdentitySource) => MachineId | null;
}

export interface LookRequest {
  readonly query: NodeQuery;
  /** The Node that `find` named, or null for a machine whose Node is gone. */
  readonly node: string | null;
  /**
   * Whether to look at that Node only. If it does not exist or does not name the machine, the look returns no Node, and
   * searches for nothing.
   */
  readonly nodeOnly?: boolean;
  /** Whether a reservation may follow at once. The look then also reads what that needs. */
  readonly beforeReservation?: boolean;
  /** The record that an earlier look of this run read from a Node that may be gone by now. */
  readonly remembered: FenceRecord | null;
  /** Keys of the volumes whose new attachment is to be read too. */
  readonly successorsOf: readonly string[];
  /**
   * Whether to look for attachments to this Node in the list of all attachments, because the Node's own status does not
   * explain every disk of its machine.
   */
  readonly search?: boolean;
  /**
   * Names of the machine's Node. If no Node of these names exists, the look also returns attachments to them that name
   * no machine. The caller has to find their machine.
   */
  readonly named?: readonly string[];
  /**
   * Attachments that are known to name the machine when no Node does. The look reads them one by one instead of finding
   * them in a list of all attachments.
   */
  readonly attachments?: readonly string[];
}

/** The result of a step: `done`, or `already` if it was so before. Both are success. */
export type StepResult = 'done' | 'already';

/**
 * The part of a cluster that fencing needs. Every method throws a `CloudfenceError`: `Unavailable` or
 * `PermissionDenied` if there was no answer, `Refused` if a precondition no longer held. An object is absent only if
 * the API server said so.
 */
export interface Cluster {
  readonly name: string;

  /**
   * Returns the names of all Nodes, of those that it looked at, that carry the machine's id. The cost is constant if
   * the name is guessed right.
   */
  readonly find: (query: NodeQuery, signal: AbortSignal) => Promise<readonly string[]>;

  /** Returns everything on a Node that may name its machine, or null if there is no such Node. */
  readonly identify: (node: string, signal: AbortSignal) => Promise<readonly IdentitySource[] | null>;

  readonly look: (request: LookRequest, signal: AbortSignal) => Promise<ClusterFacts>;

  /**
   * Returns the Node's uid, record, taints, and Lease as they are at this moment. The uid is null if the Node is gone.
   */
  readonly recheck: (node: string, signal: AbortSignal) => Promise<Recheck>;

  /** Returns the attachment of this name as it is at this moment, or null if it does not exist. */
  readonly attachment: (name: string, signal: AbortSignal) => Promise<AttachmentFacts | null>;

  /** Applies one step. Checks `permit` right before the request leaves. */
  readonly apply: (step: ClusterStep, permit: Permit, signal: AbortSignal) => Promise<StepResult>;

  /** Records an Event for people, even if what it is about is gone. */
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
   * Enters a fence that is about to begin in the ledger, if the cap allows it. Of many reservations at once, no more are
   * admitted than the cap allows: the one that was committed first counts.
   */
  readonly reserve: (wanted: CapReservation, signal: AbortSignal) => Promise<Admission>;

  /** Marks the machine's fence as finished in its ledger entry, if there is one. */
  readonly conclude: (machine: MachineId, signal: AbortSignal) => Promise<void>;

  /**
   * Marks as finished, in the ledger, every fence that has left no trace in the cluster. `showing` are the machines
   * that may have an unfinished fence.
   */
  readonly concludeUnless: (showing: readonly MachineId[], signal: AbortSignal) => Promise<void>;

  /** Returns where an event may have been missed. Reads each list once, in pages, at any size of cluster. */
  readonly suspects: (staleFor: number, signal: AbortSignal) => Promise<readonly SuspectNode[]>;
}

/** What an Event is about. The uid of a Node is null if it is not known. */
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
  /** `labelled`: one of our labels is left on the Node without a fence: a tombstone, or the note of a stop. */
  readonly because: 'lease-stale' | 'fenced' | 'labelled' | 'node-missing';
  /** The Node, or the Node that a leftover attachment names. */
  readonly node: string;
  /** What names the machine. Empty if only the Node itself names it. */
  readonly identitySources: readonly IdentitySource[];
  /** The fence's record, if there is one. */
  readonly record: FenceRecord | null;
  /** The Node as it was listed, if our out-of-service taint is set on it. Null otherwise. */
  readonly marked: NodeFacts | null;
  /** Names of the attachments to a Node that is missing or fenced. Empty for other Nodes. */
  readonly attachments: readonly string[];
}
