import type { ConnectivitySurvey, ClusterFacts, Recheck } from './cluster-facts.ts';
import type { Admission, Claim } from './ledger.ts';
import type { IdentitySource, MachineId } from './machine.ts';
import type { Permit } from './permit.ts';
import type { FenceRecord } from './record.ts';
import type { ClusterStep } from './steps.ts';

/** How to recognise one machine in a cluster, without knowing its cloud. */
export interface NodeQuery {
  readonly machine: MachineId;
  /** Names to try first, likeliest first. */
  readonly nodeNames: readonly string[];
  /** The provider's reading of an identity source. */
  readonly machineOf: (source: IdentitySource) => MachineId | null;
}

export interface LookRequest {
  readonly clues: NodeQuery;
  /** The Node that `find` named, or null for a machine whose Node is gone. */
  readonly node: string | null;
  /** What an earlier look of this run remembers of a Node that may be gone by now. */
  readonly remembered: FenceRecord | null;
  /** Keys of the volumes whose new attachment is to be looked up too. */
  readonly follow: readonly string[];
  /**
   * Look for attachments to this Node in the list of all: its own status does not explain every disk of its machine.
   */
  readonly search?: boolean;
  /**
   * Names of the machine's Node. Where none stands under them, attachments to them that name no machine are given, too:
   * whose they are, the caller has to find out.
   */
  readonly named?: readonly string[];
  /**
   * Attachments that are known to name the machine, where no Node does: read one by one, instead of found in a list of
   * all.
   */
  readonly attachments?: readonly string[];
}

/** What a step came to: `done`, or already so before (`already`), both are success. */
export type StepResult = 'done' | 'already';

/**
 * One cluster, as far as fencing needs it. Every method throws a `CloudfenceError`: `Unavailable` or `Denied` when
 * there was no answer, `Refused` when a precondition no longer held. Absence is only ever what the API server said.
 */
export interface Cluster {
  readonly name: string;

  /**
   * Names of all Nodes, of those looked at, that carry the machine's id: at constant cost where the name is guessed
   * right.
   */
  readonly find: (clues: NodeQuery, signal: AbortSignal) => Promise<readonly string[]>;

  /** Everything on a Node that may name its machine; null when there is no such Node. */
  readonly identify: (node: string, signal: AbortSignal) => Promise<readonly IdentitySource[] | null>;

  readonly look: (request: LookRequest, signal: AbortSignal) => Promise<ClusterFacts>;

  /** The Node's uid, record and Lease as they stand this moment; uid is null when the Node is gone. */
  readonly recheck: (node: string, signal: AbortSignal) => Promise<Recheck>;

  /** `permit` is checked right before the request leaves. */
  readonly apply: (step: ClusterStep, permit: Permit, signal: AbortSignal) => Promise<StepResult>;

  /** Leaves an Event on the Node (or about it, when it is gone), for people. */
  readonly recordEvent: (
    about: { readonly node: string; readonly uid: string | null },
    event: ClusterEvent,
    signal: AbortSignal,
  ) => Promise<void>;

  /**
   * Which Nodes have a Lease older than `staleFor` ms, which share the zone of `node`, and which name the machine.
   * Reads every Node.
   */
  readonly surveyConnectivity: (
    node: string,
    staleFor: number,
    clues: Pick<NodeQuery, 'machine' | 'machineOf'>,
    signal: AbortSignal,
  ) => Promise<ConnectivitySurvey>;

  /**
   * Enters a fence that wants to begin, if the cap lets it. Of many claims at once no more are admitted than may be:
   * what was committed first counts.
   */
  readonly claim: (wanted: Claim, signal: AbortSignal) => Promise<Admission>;

  /** The machine's fence is over: its entry, where there is one, is no longer unfinished. */
  readonly conclude: (machine: MachineId, signal: AbortSignal) => Promise<void>;

  /** Where an event may have been missed: cheap lists only, bounded at any size of cluster. */
  readonly suspects: (staleFor: number, signal: AbortSignal) => Promise<readonly Suspect[]>;
}

export interface ClusterEvent {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase, one word for machines. */
  readonly reason: string;
  readonly message: string;
}

export interface Suspect {
  /** `labelled`: a label of ours is left on it, though no fence stands, such as a tombstone. */
  readonly because: 'lease-stale' | 'fenced' | 'labelled' | 'node-missing';
  /** The Node, or the Node that a leftover attachment names. */
  readonly node: string;
  /** What names the machine; empty when only the Node itself can tell. */
  readonly identitySources: readonly IdentitySource[];
  /** The fence's record, where there is one. */
  readonly record: FenceRecord | null;
  /** Our out-of-service taint stands on it. */
  readonly marked: boolean;
  /** Names of the attachments to a Node that is missing, or fenced; empty for others. */
  readonly attachments: readonly string[];
}
