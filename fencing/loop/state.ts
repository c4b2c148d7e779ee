import type { Cloud, CloudIdentityRules } from '../model/cloud.ts';
import type { ClusterFacts } from '../model/cluster-facts.ts';
import type { MachineFacts } from '../model/machine.ts';
import type { OutcomeKind, StepReport } from '../model/outcome.ts';
import type { Policy } from '../model/policy.ts';
import type { Reason, ReasonCode } from '../model/reason.ts';
import type { FenceRecord } from '../model/record.ts';
import type { Memory, Moment, Request, View } from '../rules/view.ts';

/** The state of a run, and how it begins. */

/**
 * One read. Its value was true at some moment between the request and the response. The age of a proof counts from the
 * request.
 */
export interface Observation<T> {
  readonly value: T;
  readonly requestedAt: Moment;
  /** Monotonic clock (ms). */
  readonly receivedAt: number;
}

/** Where the machine lives: one cluster, and its Node there unless the Node is gone. */
export interface ClusterLocation {
  readonly cluster: string;
  readonly node: string | null;
}

export interface Ending {
  readonly outcome: OutcomeKind;
  readonly reason: Reason;
  readonly lookAgainIn: number | null;
  readonly retry: boolean;
}

/**
 * Everything that one run knows. It is a plain value, so a test can stop, copy, or resume a run between any two calls.
 */
export interface RunState {
  readonly request: Request;
  readonly policy: Policy;
  readonly identityRules: CloudIdentityRules;
  readonly runId: string;
  /** Monotonic time (ms) after which the run ends with a regular outcome. */
  readonly deadline: number;
  /**
   * Reasons for which the run ends instead of waiting itself. A later run looks again, which costs less than a sleeping
   * process.
   */
  readonly handsOver: ReadonlySet<ReasonCode>;
  readonly location: ClusterLocation | null;
  /**
   * Why it is uncertain whether the Node at `location` belongs to the machine although it names the machine, or null.
   */
  readonly ambiguity: Reason | null;
  readonly machine: Observation<MachineFacts> | null;
  readonly cluster: Observation<ClusterFacts> | null;
  /** Whether the latest read of the machine was made only to renew a proof. */
  readonly proofRenewed: boolean;
  /** The record as this run last read it. It remains known after the Node is gone. */
  readonly record: FenceRecord | null;
  readonly memory: Memory;
  /** The step that a recheck has just allowed, and when the recheck was requested (monotonic ms). */
  readonly cleared: { readonly step: string; readonly at: number } | null;
  readonly resumeAt: number | null;
  /** Why the run waits, or why it last failed. It becomes the outcome if the run reaches its deadline. */
  readonly pending: { readonly outcome: 'waiting' | 'failed'; readonly reason: Reason; readonly ms: number } | null;
  /** `failures` counts consecutive failed calls. `refusals` counts for each step how often in a row it was refused. */
  readonly failures: number;
  readonly refusals: ReadonlyMap<string, number>;
  readonly steps: readonly StepReport[];
  readonly ending: Ending | null;
  readonly eventsRecorded: boolean;
  /**
   * The boot of the fence that this run has ended by removing or replacing its record: it has released the fence, or
   * has moved it to the present boot. Null if that boot is not known. Undefined if this run has ended no fence in this
   * way.
   */
  readonly endedBoot: string | null | undefined;
  /** For how many boots the end of the fence was recorded in the ledger, or could not be recorded. */
  readonly concluded: number;
}

export interface Start {
  readonly request: Request;
  readonly policy: Policy;
  readonly identityRules: RunState['identityRules'] & Pick<Cloud, 'identityRulesFor'>;
  readonly runId: string;
  readonly deadline: number;
  readonly handsOver?: ReadonlySet<ReasonCode>;
  /** Where the machine lives, if it was already found. */
  readonly location?: ClusterLocation | null;
  /** Why it is uncertain whether the machine lives there, if several Nodes were found. */
  readonly ambiguity?: Reason | null;
  /** Attachments that name the machine if it has no Node, if they were already found. */
  readonly attachments?: readonly string[] | null;
  /** Steps that were taken on the machine's Node before the run. */
  readonly steps?: readonly StepReport[];
  /** When the command began (monotonic ms). Without it, a person's statement does not count. */
  readonly statedAt?: number | null;
}

/** The memory of a run that has not read a Lease since it saw the machine off. */
export const UNREAD_LEASE: Pick<Memory, 'lease' | 'leaseSince'> = { lease: undefined, leaseSince: null };

/** The memory of a run that has to ask the cap before a fence begins. */
export const NOT_ASKED: Pick<Memory, 'admission' | 'admittedBoot'> = { admission: null, admittedBoot: null };

export const emptyMemory: Memory = {
  firstOff: null,
  firstStopping: null,
  witness: null,
  testified: [],
  ...UNREAD_LEASE,
  firstLease: undefined,
  sinceLook: new Set(),
  failedSinceLook: new Set(),
  takenAt: new Map(),
  deleted: new Map(),
  unwanted: new Map(),
  detached: new Set(),
  attachments: null,
  volumesLeft: [],
  declined: new Map(),
  searched: false,
  marks: 0,
  mark: null,
  markIsNew: false,
  firstFence: undefined,
  firstBoot: undefined,
  firstGeneration: undefined,
  statedAt: null,
  isStatementOld: false,
  untainted: null,
  connectivity: null,
  ...NOT_ASKED,
  polls: 0,
};

export const startRun = ({
  location = null,
  ambiguity = null,
  attachments = null,
  handsOver = new Set(),
  steps = [],
  statedAt = null,
  identityRules,
  ...start
}: Start): RunState => ({
  ...start,
  identityRules: identityRules.identityRulesFor?.(start.request.machine) ?? identityRules,
  handsOver,
  location,
  ambiguity,
  machine: null,
  record: null,
  cluster: null,
  proofRenewed: false,
  memory: { ...emptyMemory, attachments, statedAt },
  cleared: null,
  resumeAt: null,
  pending: null,
  failures: 0,
  refusals: new Map(),
  steps,
  ending: null,
  eventsRecorded: false,
  endedBoot: undefined,
  concluded: 0,
});

/** Returns the view for `decide`, or null while a fact is still missing. */
export const viewOf = ({ machine, cluster, ...state }: RunState, now: Moment): View | null =>
  machine && cluster
    ? {
        request: state.request,
        policy: state.policy,
        identityRules: state.identityRules,
        runId: state.runId,
        machine: machine.value,
        machineRequestedAt: machine.requestedAt.mono,
        cluster: cluster.value,
        remembered: state.record,
        ambiguity: state.ambiguity,
        memory: state.memory,
        now,
      }
    : null;
