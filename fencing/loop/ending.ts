import type { ClusterEvent, EventSubject } from '../model/cluster.ts';
import { type Ending, type RunState, viewOf } from './state.ts';
import { describeDeclined, stillDeclined, listUntouched } from '../rules/finish.ts';
import { type DeletedPod, isSimulated, type Outcome, type OutcomeKind } from '../model/outcome.ts';
import { because, type Reason, type ReasonCode } from '../model/reason.ts';
import type { Moment } from '../rules/view.ts';
import {
  type CloudfenceError,
  InvalidConfiguration,
  InvalidInput,
  PermissionDenied,
  Refused,
  Unexpected,
} from '../model/errors.ts';

/** Turns the end of a run into its outcome, and into the Events on its objects. */

/**
 * Returns the steps that were rejected and still need to be done. If no later look exists, all rejected steps count.
 */
const openIn = ({ memory, machine, cluster }: RunState): RunState['memory']['declined'] =>
  machine && cluster ? stillDeclined({ memory, machine: machine.value, cluster: cluster.value }) : memory.declined;

/**
 * Returns the ending of a run whose wait is longer than its time limit. If steps were rejected while the machine is
 * off, the run fails and names them, because a person has to fix the cause. The awaited change may still happen, so the
 * outcome also requests another look.
 */
export const waitingEnd = (state: RunState, reason: Reason, ms: number): Ending => {
  const declined = openIn(state);
  return declined.size > 0 && state.memory.firstOff !== null
    ? {
        outcome: 'failed',
        reason: because('step-refused', `${describeDeclined(declined)}. The run also waits: ${reason.says}`),
        lookAgainIn: ms,
        retry: true,
      }
    : { outcome: 'waiting', reason, lookAgainIn: ms, retry: false };
};

/** Returns the ending of a run that has reached its deadline: the present wait, or the call that kept failing. */
export const endingAtDeadline = (state: RunState): Ending => {
  const { pending } = state;
  if (pending?.outcome === 'failed')
    return { outcome: 'failed', reason: pending.reason, lookAgainIn: null, retry: true };
  const { reason, ms } = pending ?? {
    reason: because('not-fenced', 'the run ended before it had read the machine and the cluster'),
    ms: 1_000,
  };
  return waitingEnd(state, reason, ms);
};

/**
 * Returns the name of the Node as last read. If the Node is gone, returns the name that its attachments or its record
 * contain.
 */
const lastNode = ({ cluster, location, record }: RunState): Pick<Outcome, 'node' | 'nodeUid'> => {
  const node = cluster?.value.node;
  if (node) return { node: node.name, nodeUid: node.uid };
  return { node: cluster?.value.nodeName ?? location?.node ?? record?.node ?? null, nodeUid: record?.nodeUid ?? null };
};

/** Lists what Cloudfence did not touch. Lists nothing unless the machine is off. */
const leftIn = (state: RunState, now: Moment): Outcome['left'] => {
  const view = viewOf(state, now);
  return view && state.memory.firstOff ? listUntouched(view) : [];
};

export const outcomeOf = (state: RunState, now: Moment): Outcome => ({
  ...(state.ending ?? endingAtDeadline(state)),
  ...lastNode(state),
  machine: state.request.machine,
  cluster: state.location?.cluster ?? null,
  mode: state.steps.some((step) => step.step === 'delete-node') ? 'delete' : 'taint',
  dryRun: state.policy.dryRun,
  shadow: state.policy.shadow,
  evidence: state.machine?.value.evidence ?? {},
  generation: state.machine?.value.generation ?? null,
  provenAt: state.memory.firstOff?.wall ?? null,
  steps: state.steps,
  left: leftIn(state, now),
  record: state.record,
});

const eventReasons: Record<OutcomeKind, string | null> = {
  fenced: 'MachineFenced',
  released: 'NodeReleased',
  'would-fence': null,
  'would-release': null,
  refused: 'FencingRefused',
  failed: 'FencingFailed',
  waiting: null,
  ignored: null,
};

/**
 * Returns the Event to record on the Node for people, or null. Cloudfence records Events for ends and alarms, not for
 * every look. A run that only simulates its steps records no Event.
 */
export const eventFor = (ended: Outcome): ClusterEvent | null => {
  const { outcome, reason, node, steps } = ended;
  const word = reason.code === 'stopping-too-long' ? 'MachineStoppingTooLong' : eventReasons[outcome];
  if (word === null || isSimulated(ended) || node === null) return null;
  if ((outcome === 'fenced' || outcome === 'released') && steps.length === 0) return null;
  const calm = outcome === 'released';
  return { type: calm ? 'Normal' : 'Warning', reason: word, message: reason.says };
};

/** An Event, and the object that it is about. */
export interface SubjectEvent {
  readonly about: EventSubject;
  readonly event: ClusterEvent;
}

/**
 * The maximum number of pods per run that get their own Event. Each Event is one call, and a fence may take at most 40
 * calls plus one delete per pod.
 */
const MOST_POD_EVENTS = 4;

/**
 * Returns the pods for Events: those with a volume first, because people look for these, and then the others in the
 * order of their deletion.
 */
const podsToTell = ({ steps }: Outcome): readonly DeletedPod[] =>
  steps
    .flatMap(({ pod }) => pod ?? [])
    .toSorted((a, b) => Number(b.hasVolume) - Number(a.hasVolume))
    .slice(0, MOST_POD_EVENTS);

const podEvent = ({ machine, node, record }: Outcome, { namespace, name, uid }: DeletedPod): SubjectEvent => ({
  about: { kind: 'Pod', namespace, name, uid },
  event: {
    type: 'Normal',
    reason: 'ForceDeleted',
    message:
      'Cloudfence deleted this pod without a grace period, because its kubelet cannot end it: the machine ' +
      `${machine}${node === null ? '' : ` of Node ${node}`} is off${record ? ` (fence ${record.fence})` : ''}`,
  },
});

/** Returns all Events at the end of a run: one for the Node, and those for deleted pods. */
export const eventsAtEnd = (ended: Outcome): readonly SubjectEvent[] => {
  const event = eventFor(ended);
  const about = { kind: 'Node', name: ended.node ?? '', uid: ended.nodeUid } as const;
  return [...(event ? [{ about, event }] : []), ...podsToTell(ended).map((pod) => podEvent(ended, pod))];
};

/** How a run reacts to a failed call. */

const FIRST_BACK_OFF_MS = 500;
const LONGEST_BACK_OFF_MS = 8_000;

const backOff = (times: number): number => Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** times);

/** Returns whether repeating the call cannot help. */
export const isPermanent = (error: CloudfenceError): boolean =>
  error instanceof PermissionDenied || error instanceof Unexpected || !error.retry;

const EXPIRIES_BEFORE_A_PAUSE = 2;

/** Makes the run renew the proof immediately. If proofs keep expiring, the run sleeps first. */
export const expired = (state: RunState, now: Moment): RunState => {
  const failures = state.failures + 1;
  const resumeAt = failures > EXPIRIES_BEFORE_A_PAUSE ? now.mono + backOff(failures) : null;
  const pending = {
    outcome: 'waiting' as const,
    reason: because(
      'unavailable',
      'each proof expires before Cloudfence can use it: the cloud or the cluster responds too slowly',
    ),
    ms: backOff(failures),
  };
  return { ...state, machine: null, cleared: null, failures, resumeAt, pending };
};

const codeOf = (error: CloudfenceError): ReasonCode => {
  if (error instanceof PermissionDenied) return 'denied';
  if (error instanceof Refused) return 'step-refused';
  if (error instanceof Unexpected) return 'unexpected';
  return error instanceof InvalidInput || error instanceof InvalidConfiguration ? 'invalid' : 'unavailable';
};

/** Returns the reason for a caught error. */
export const reasonOf = (error: CloudfenceError): Reason => because(codeOf(error), error.message);

/** Returns the ending of a run that an error ended. */
export const failedEnding = (error: CloudfenceError): Ending => ({
  outcome: 'failed',
  reason: reasonOf(error),
  lookAgainIn: null,
  retry: error.retry,
});

/** Makes the run look again after a pause. The pause grows with the number of consecutive failures (`times`). */
export const tryLater = (state: RunState, error: CloudfenceError, now: Moment, times = state.failures): RunState => {
  const ms = backOff(times);
  return {
    ...state,
    machine: null,
    cluster: null,
    cleared: null,
    failures: state.failures + 1,
    resumeAt: now.mono + ms,
    pending: { outcome: 'failed', reason: reasonOf(error), ms },
    memory: { ...state.memory, sinceLook: new Set(), failedSinceLook: new Set() },
  };
};
