import type { Cloud, CloudIdentityRules } from '../model/cloud.ts';
import { type ClusterFacts, fenceNameOn, ownMark } from '../model/cluster-facts.ts';
import type { MachineFacts, Power } from '../model/machine.ts';
import type { OutcomeKind, StepReport } from '../model/outcome.ts';
import type { Policy } from '../model/policy.ts';
import type { Reason, ReasonCode } from '../model/reason.ts';
import type { FenceRecord } from '../model/record.ts';
import { podsWanting } from '../rules/pods.ts';
import type { Memory, Moment, Request, View } from '../rules/view.ts';

/** The state of a run, and how a read of the machine or of the cluster changes it. */

/**
 * One read. Its value was true at some moment between the request and the response. A proof counts from the request.
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
  /** Monotonic time (ms) after which the run ends in good order. */
  readonly deadline: number;
  /**
   * Reasons for which the run does not wait itself. A later run looks again, which costs less than a process that
   * sleeps.
   */
  readonly handsOver: ReadonlySet<ReasonCode>;
  readonly location: ClusterLocation | null;
  /** Why the Node at `location` may not be the machine's although it names the machine, or null. */
  readonly ambiguity: Reason | null;
  readonly machine: Observation<MachineFacts> | null;
  readonly cluster: Observation<ClusterFacts> | null;
  /** Whether the newest read of the machine was made only to renew a proof. */
  readonly proofRenewed: boolean;
  /** The record as this run last read it. It outlives the Node that carried it. */
  readonly record: FenceRecord | null;
  readonly memory: Memory;
  /** The step that a recheck has just cleared, and when the recheck was requested (monotonic ms). */
  readonly cleared: { readonly step: string; readonly at: number } | null;
  readonly resumeAt: number | null;
  /** Why the run waits or last failed. The outcome reports it when the run's time is up. */
  readonly pending: { readonly outcome: 'waiting' | 'failed'; readonly reason: Reason; readonly ms: number } | null;
  /** `failures` counts failed calls in a row. `refusals` counts how often in a row each step was refused. */
  readonly failures: number;
  readonly refusals: ReadonlyMap<string, number>;
  readonly steps: readonly StepReport[];
  readonly ending: Ending | null;
  readonly eventsRecorded: boolean;
  /** Whether the end of the fence was entered in the ledger, or could not be entered. */
  readonly concluded: boolean;
}

export interface Start {
  readonly request: Request;
  readonly policy: Policy;
  readonly identityRules: RunState['identityRules'] & Pick<Cloud, 'identityRulesFor'>;
  readonly runId: string;
  readonly deadline: number;
  readonly handsOver?: ReadonlySet<ReasonCode>;
  /** Where the machine lives, if it was found already. */
  readonly location?: ClusterLocation | null;
  /** Why the machine may not be there, if more than one Node was found. */
  readonly ambiguity?: Reason | null;
  /** Attachments that name the machine there in place of a Node, if they were found already. */
  readonly attachments?: readonly string[] | null;
  /** Steps that were taken on the machine's Node before the run. */
  readonly steps?: readonly StepReport[];
}

const UNREAD_LEASE: Pick<Memory, 'lease' | 'leaseSince'> = { lease: undefined, leaseSince: null };

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
  declined: new Map(),
  searched: false,
  marks: 0,
  mark: null,
  markIsNew: false,
  firstFence: undefined,
  firstBoot: undefined,
  firstGeneration: null,
  connectivity: null,
  admission: null,
  polls: 0,
};

export const startRun = ({
  location = null,
  ambiguity = null,
  attachments = null,
  handsOver = new Set(),
  steps = [],
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
  memory: { ...emptyMemory, attachments },
  cleared: null,
  resumeAt: null,
  pending: null,
  failures: 0,
  refusals: new Map(),
  steps,
  ending: null,
  eventsRecorded: false,
  concluded: false,
});

/** Returns the view for `decide`, or null while something is still unknown. */
export const viewOf = ({ machine, cluster, ...state }: RunState, now: Moment): View | null =>
  machine && cluster
    ? {
        request: state.request,
        policy: state.policy,
        identityRules: state.identityRules,
        runId: state.runId,
        machine: machine.value,
        cluster: cluster.value,
        remembered: state.record,
        ambiguity: state.ambiguity,
        memory: state.memory,
        now,
      }
    : null;

/** Power states that are proof, or that become proof with a second read or a witness. */
export const saysOff: ReadonlySet<Power> = new Set<Power>(['off', 'off-if-repeated', 'missing']);

/**
 * Returns whether both generations may be of one boot. A machine that the cloud has forgotten by now has no boot left
 * that could be another one.
 */
const sameBoot = (before: string | null, now: string | null): boolean =>
  before === null || now === null || before === now;

/**
 * Returns when this run first saw the machine `stopping`. An answer without a power state does not end the stop. A
 * machine that is off by its power state has ended it, whatever operation is in progress.
 */
const firstSeenStopping = (
  { firstStopping }: Memory,
  { power, offUnderOperation, generation }: MachineFacts,
  now: Moment,
): Memory['firstStopping'] => {
  if (power === 'stopping' && !offUnderOperation)
    return firstStopping?.generation === generation ? firstStopping : { at: now.wall, generation };
  return power === 'unknown' ? firstStopping : null;
};

/** Returns whether a person's statement counts: of this run or, if the configuration allows vouching, in the record. */
const isVouched = ({ request, record, policy }: RunState): boolean =>
  request.vouched !== null || (policy.vouching === 'accepted' && (record?.vouched ?? null) !== null);

/**
 * Adds a read of the machine. An off-read of another generation, or a read that does not say off, ends the proof so
 * far. If the boot or the power state changed, the run forgets what the cluster said. The witness is asked again, so
 * that its answer is never older than the read that it supports.
 */
export const withMachineRead = (state: RunState, machine: Observation<MachineFacts>, now: Moment): RunState => {
  const { power, generation } = machine.value;
  const { memory } = state;
  const off = saysOff.has(power) || (isVouched(state) && (power === 'unknown' || power === 'suspended'));
  const same = off && memory.firstOff !== null && memory.firstOff.generation === generation;
  const firstOff = same ? memory.firstOff : off ? { ...now, generation } : null;
  const { lease, leaseSince } = same ? memory : UNREAD_LEASE;
  const unchanged = state.machine?.value.power === power && state.machine.value.generation === generation;
  const firstStopping = firstSeenStopping(memory, machine.value, now);
  const attachments = memory.firstOff === null || same ? memory.attachments : null;
  const admission = sameBoot(state.machine?.value.generation ?? null, generation) ? memory.admission : null;
  return {
    ...state,
    machine,
    cluster: unchanged ? state.cluster : null,
    memory: {
      ...memory,
      firstOff,
      firstStopping,
      lease,
      leaseSince,
      attachments,
      admission,
      witness: null,
      testified: [],
      markIsNew: false,
      firstGeneration: memory.firstGeneration ?? (state.request.vouched === null ? null : generation),
    },
  };
};

/**
 * Returns the baseline Lease, and since when it is known. A Lease is a baseline only if it was requested after the
 * machine was seen off. It is known once it is received: until then, the kubelet may have renewed it.
 */
export const baselineLease = (
  { firstOff, lease, leaseSince }: Memory,
  read: string | null,
  requestedAt: Moment,
  receivedAt: number,
): Pick<Memory, 'lease' | 'leaseSince'> =>
  lease === undefined && firstOff && requestedAt.mono >= firstOff.mono
    ? { lease: read, leaseSince: receivedAt }
    : { lease, leaseSince };

/** Returns since when no pod object has wanted each volume. */
export const unwantedSince = (memory: Memory, cluster: ClusterFacts, now: Moment): ReadonlyMap<string, number> =>
  new Map(
    cluster.volumes
      .filter((volume) => podsWanting({ cluster }, volume.key).length === 0)
      .map((volume) => [volume.key, memory.unwanted.get(volume.key) ?? now.mono]),
  );

/**
 * Returns all attachments of a machine without a Node. The first list of them is complete, because no new ones are made
 * for a Node that is gone.
 */
const attachmentsLeft = (memory: Memory, { node, volumes }: ClusterFacts): readonly string[] | null =>
  node ? null : (memory.attachments ?? volumes.flatMap(({ attachment }) => attachment?.name ?? []));

/**
 * Returns our mark as it was read, and whether it may be younger than the newest read of the machine. A mark that this
 * run had seen before that read is older.
 */
const markSeen = (memory: Memory, { node }: ClusterFacts): Pick<Memory, 'mark' | 'markIsNew'> => {
  const mark = node && ownMark(node);
  return { mark, markIsNew: mark !== null && (memory.markIsNew || mark !== memory.mark) };
};

/** Returns the fence that a person's word is about. No other run needs it. */
const firstFenceOf = ({ request, memory }: RunState, { node }: ClusterFacts): Memory['firstFence'] =>
  request.accepted === null || memory.firstFence !== undefined ? memory.firstFence : node && fenceNameOn(node);

/** Returns the boot that a person's statement is about. No other run needs it. */
const firstBootOf = ({ request, memory }: RunState, { node }: ClusterFacts): Memory['firstBoot'] =>
  request.vouched === null || memory.firstBoot !== undefined ? memory.firstBoot : (node?.bootID ?? null);

/** Adds a read of the cluster. It contains everything that was done since the previous look. */
export const withClusterRead = (state: RunState, cluster: Observation<ClusterFacts>, now: Moment): RunState => {
  const { memory } = state;
  return {
    ...state,
    cluster,
    record: cluster.value.node?.record ?? state.record,
    memory: {
      ...memory,
      sinceLook: new Set(),
      failedSinceLook: new Set(),
      ...baselineLease(memory, cluster.value.lease, cluster.requestedAt, cluster.receivedAt),
      ...markSeen(memory, cluster.value),
      firstLease: memory.firstLease === undefined ? cluster.value.lease : memory.firstLease,
      firstFence: firstFenceOf(state, cluster.value),
      firstBoot: firstBootOf(state, cluster.value),
      attachments: attachmentsLeft(memory, cluster.value),
      unwanted: unwantedSince(memory, cluster.value, now),
    },
  };
};
