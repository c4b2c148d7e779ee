import { decide } from '../rules/decide.ts';
import type { CapReservation } from '../model/ledger.ts';
import type { DiskId, MachineFacts } from '../model/machine.ts';
import { viewOf, type RunState, type ClusterLocation, type Observation } from './state.ts';
import { withoutDeletedPods, hasImagined, imaginedEnding } from './apply-step.ts';
import type { Outcome, OutcomeKind } from '../model/outcome.ts';
import { endingAtDeadline, outcomeOf, eventsFor, type SubjectEvent, waitingEnd } from './ending.ts';
import { PROOF_LASTS_MS } from '../model/permit.ts';
import { beginsNothing, timing } from '../model/policy.ts';
import { because, type Reason, type ReasonCode } from '../model/reason.ts';
import { markKey, stepKey, stepProperties, takesBack, type Step } from '../model/steps.ts';
import type { Act, Awaited, Decision, Moment, View } from '../rules/view.ts';

/** Chooses the next command from the state of a run: a look, a recheck, a step, a sleep, or the end. */

/**
 * The next thing to do. Reads may be combined. Of the commands that change the world, only steps of one kind on several
 * objects leave side by side.
 */
export type Command =
  /** `disks`: read the machine's disks too. `search`: look for its attachments in the list of all attachments. */
  | {
      readonly do: 'look';
      readonly machine: boolean;
      readonly cluster: boolean;
      readonly disks: boolean;
      readonly search: boolean;
    }
  | { readonly do: 'locate'; readonly facts: MachineFacts }
  | { readonly do: 'witness'; readonly disks: readonly DiskId[] }
  | { readonly do: 'survey-connectivity'; readonly node: string }
  /** `markToRecheck`: the mark that follows if the fence is admitted, to be rechecked side by side with the reservation. */
  | {
      readonly do: 'reserve';
      readonly location: ClusterLocation;
      readonly reservation: CapReservation;
      readonly markToRecheck: { readonly node: string; readonly step: string } | null;
    }
  /** Enters in the ledger that the fence is over. */
  | { readonly do: 'conclude'; readonly location: ClusterLocation }
  | { readonly do: 'recheck'; readonly location: ClusterLocation; readonly node: string; readonly step: Step }
  /**
   * Steps of one kind, side by side. Each is one call with an answer of its own. `expires`: when the proof ends.
   * `leaveBy`: when those for which the recheck was not made must have left, because it is then too old. Both are
   * monotonic ms. `isRechecked`: whether the first is not one of those, and may leave at any age of the recheck.
   */
  | {
      readonly do: 'act';
      readonly location: ClusterLocation;
      readonly step: Step;
      readonly because: Reason;
      readonly alongside: readonly Act[];
      readonly expires: number;
      readonly leaveBy: number;
      readonly isRechecked: boolean;
    }
  /** Dry run or shadow mode: the step is only imagined. */
  | { readonly do: 'imagine'; readonly step: Step; readonly because: Reason }
  /** `until`: what may end the sleep earlier. */
  | { readonly do: 'sleep'; readonly ms: number; readonly because: Reason; readonly until: Awaited | null }
  | { readonly do: 'end'; readonly ending: NonNullable<RunState['ending']> }
  | {
      readonly do: 'record-events';
      readonly location: ClusterLocation;
      readonly events: readonly SubjectEvent[];
    }
  | { readonly do: 'finish'; readonly outcome: Outcome };

/**
 * The part of a proof's lifetime that is kept for the recheck and the call. A proof with less time left is renewed
 * before a step.
 */
const KEPT_FOR_THE_CALL_MS = 500;
/** Facts about the machine that are older than this are read again before any decision. */
const MACHINE_FACTS_LAST_MS = PROOF_LASTS_MS - KEPT_FOR_THE_CALL_MS;
/** The time between two attempts at a proof while the cloud answers too slowly for one. */
const SLOW_CLOUD_MS = 2_000;
/** The time that a recheck may take between the proof and the call. */
const RECHECK_TAKES_MS = 200;

/** How old a recheck may be (ms) when it clears a step for which it was not made alone. */
export const RECHECK_LASTS_MS = 500;

type StepDecision = Extract<Decision, { do: 'step' }>;

/** Returns the command to take one step alone. */
export const actOn = (location: ClusterLocation, act: Act, expires: number): Extract<Command, { do: 'act' }> => ({
  do: 'act',
  location,
  ...act,
  alongside: [],
  expires,
  leaveBy: expires,
  isRechecked: true,
});

/** A step of a command, and the latest time at which its call may leave, even under a longer proof (monotonic ms). */
interface ActOfCommand extends Act {
  readonly leaveBy: number;
}

/** Returns all steps of a command, the most urgent first. */
export const actsOf = (command: Extract<Command, { do: 'act' }>): readonly ActOfCommand[] => {
  const { step, because: reason, alongside, leaveBy, isRechecked } = command;
  const first = { step, because: reason, leaveBy: isRechecked ? Infinity : leaveBy };
  return [first, ...alongside.map((act) => ({ ...act, leaveBy }))];
};

const takenByHand: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['fence-removed-by-hand', 'taint-removed-by-hand']);

const lookAt = (wanted: {
  readonly machine?: boolean;
  readonly cluster?: boolean;
  readonly disks?: boolean;
  readonly search?: boolean;
}): Command => ({
  do: 'look',
  machine: false,
  cluster: false,
  disks: true,
  search: false,
  ...wanted,
});

/** Returns the next command for what is known so far. Pure. */
export const nextCommand = (state: RunState, now: Moment): Command => {
  if (state.ending) return finishRun(state, now);
  if (state.resumeAt !== null && state.resumeAt > now.mono) return sleepOrEnd(state, now);
  if (now.mono >= state.deadline) return { do: 'end', ending: endingAtDeadline(state) };
  if (!state.location) return state.machine ? { do: 'locate', facts: state.machine.value } : lookAt({ machine: true });
  const machine = !state.machine || now.mono - state.machine.receivedAt >= MACHINE_FACTS_LAST_MS;
  const cluster = !state.cluster || now.mono - state.cluster.receivedAt >= timing.clusterFacts;
  const view = viewOf(state, now);
  if (!view || machine || cluster) return lookAt({ machine, cluster });
  const decision = decide(view);
  const next = needsLook(state, decision) ? waitAtOnce(view) : decision;
  return next ? commandForDecision(state, next, now) : lookAt({ cluster: true });
};

const isAllOf = ({ memory: { sinceLook } }: Pick<View, 'memory'>, kinds: ReadonlySet<Step['do']>): boolean =>
  [...sinceLook].every((key) => [...kinds].some((kind) => key.startsWith(`${kind} `)));

const PARK: ReadonlySet<Step['do']> = new Set(['park']);
const FREES_VOLUMES: ReadonlySet<Step['do']> = new Set(['mark', 'fail-pod', 'delete-pod']);

/**
 * Returns whether the decision needs a look after what was done since the last one. Deleting pods needs no look: each
 * call names the uid of its pod, and what is to be deleted has been known since before the mark. The end of a parked
 * fence needs no look: the patch has tested the Node, and the sweep finds work that comes back.
 */
const needsLook = (state: RunState, decision: Decision): boolean =>
  state.memory.sinceLook.size > 0 &&
  !hasImagined(state) &&
  !(decision.do === 'step' && stepProperties[decision.step.do].makesStale === 'nothing') &&
  !(decision.do === 'end' && decision.outcome === 'fenced' && isAllOf(state, PARK));

/**
 * Returns the wait for attachments that follows once all pods are deleted, or null. If a pod is left after all, the look
 * after the wait shows it, and no step is taken before that. A run that has deleted pods before looks first, to say
 * which of them come back.
 */
const waitAtOnce = (view: View): Decision | null => {
  const { memory, cluster } = view;
  const { sinceLook, failedSinceLook, deleted } = memory;
  const isFirst = [...deleted.keys()].every((uid) => sinceLook.has(`delete-pod ${uid}`));
  if (!isFirst || failedSinceLook.size > 0 || !isAllOf(view, FREES_VOLUMES)) return null;
  const decision = decide({ ...view, cluster: withoutDeletedPods(cluster, sinceLook) });
  return decision.do === 'wait' && decision.until !== null ? decision : null;
};

/** Returns whether the fence is over: nothing is left to do, or someone else removed it. */
const endsTheFence = ({ ending, policy, memory: { admission } }: RunState): boolean => {
  if (!ending || policy.dryRun) return false;
  const over =
    ending.outcome === 'fenced' ||
    ending.outcome === 'released' ||
    (ending.outcome === 'ignored' && admission?.admitted === true);
  return over || takenByHand.has(ending.reason.code);
};

const finishRun = (state: RunState, now: Moment): Command => {
  if (state.location && endsTheFence(state) && !state.concluded) return { do: 'conclude', location: state.location };
  const outcome = outcomeOf(state, now);
  const events = eventsFor(outcome);
  return state.location && events.length > 0 && !state.eventsRecorded
    ? { do: 'record-events', location: state.location, events }
    : { do: 'finish', outcome };
};

const sleepOrEnd = (state: RunState, now: Moment): Command => {
  const ms = (state.resumeAt ?? now.mono) - now.mono;
  const reason = state.pending?.reason ?? because('unexpected', 'paused');
  const handedOver = state.pending?.outcome === 'waiting' && state.handsOver.has(reason.code);
  return now.mono + ms >= state.deadline || handedOver
    ? { do: 'end', ending: endingAtDeadline(state) }
    : { do: 'sleep', ms, because: reason, until: null };
};

const commandForDecision = (state: RunState, decision: Decision, now: Moment): Command => {
  switch (decision.do) {
    case 'step':
      return isOnlyImagined(state, decision.step)
        ? { do: 'imagine', step: decision.step, because: decision.because }
        : commandForStep(state, decision, now);
    case 'witness':
      return { do: 'witness', disks: decision.disks };
    case 'survey-connectivity':
      return { do: 'survey-connectivity', node: state.cluster?.value.nodeName ?? '' };
    case 'reserve':
      return reserve(state, decision.boot);
    case 'search':
      return lookAt({ cluster: true, search: true });
    case 'reread':
      return lookAt({ machine: true, disks: false });
    case 'wait':
      return imaginedWaitEnds(state) ?? waitOrEnd(state, decision, now);
    case 'end':
      if (endsImagined(state, decision.outcome)) return { do: 'end', ending: imaginedEnding(state) };
      return {
        do: 'end',
        ending: {
          outcome: decision.outcome,
          reason: decision.because,
          lookAgainIn: decision.lookAgainIn ?? null,
          retry: decision.outcome === 'failed',
        },
      };
  }
};

const reserve = ({ location, cluster, request: { machine }, policy }: RunState, boot: string | null): Command => {
  if (!location) return lookAt({ machine: true });
  const node = cluster?.value.node;
  const onlyAsked = beginsNothing(policy);
  const markToRecheck = node && !onlyAsked ? { node: node.name, step: markKey(node) } : null;
  return { do: 'reserve', location, reservation: { machine, boot, cap: policy.cap, onlyAsked }, markToRecheck };
};

/**
 * Returns whether the step is only imagined. Shadow mode begins nothing. It still removes what Cloudfence left on the
 * Node, as long as the facts contain nothing imagined.
 */
const isOnlyImagined = ({ policy, cluster, memory }: RunState, step: Step): boolean => {
  if (policy.dryRun || !policy.shadow) return policy.dryRun;
  return memory.sinceLook.size > 0 || !takesBack(step, cluster?.value.node?.taints.ours === true);
};

/**
 * Ends a run that imagined something and would have to wait. An imagined step has no effect to wait for, so the
 * imagined steps so far are the answer.
 */
const imaginedWaitEnds = (state: RunState): Command | null =>
  hasImagined(state) ? { do: 'end', ending: imaginedEnding(state, ', and would then wait for Kubernetes') } : null;

/** Returns whether only imagined steps led to this end. */
const endsImagined = (state: RunState, outcome: OutcomeKind): boolean =>
  hasImagined(state) && (outcome === 'fenced' || outcome === 'released');

type Wait = Pick<Extract<Decision, { do: 'wait' }>, 'ms' | 'because' | 'until'>;

/** A wait that something else may end is cut short at the run's deadline. Any other that lasts longer ends the run. */
const waitOrEnd = (state: RunState, { ms, because: reason, until }: Wait, now: Moment): Command => {
  const left = state.deadline - now.mono;
  const lasts = until ? Math.min(ms, Math.max(left, timing.pollShortest)) : ms;
  const isTooLong = until ? lasts > left : lasts >= left;
  return isTooLong || state.handsOver.has(reason.code)
    ? { do: 'end', ending: waitingEnd(state, reason, lasts) }
    : { do: 'sleep', ms: lasts, because: reason, until };
};

/**
 * Returns the next command towards a step: a fresh proof, then a recheck of the record and the Lease, then the call.
 */
const commandForStep = (state: RunState, { step, because: reason, alongside }: StepDecision, now: Moment): Command => {
  const { location, machine, cluster } = state;
  if (!location || !machine || !cluster) return lookAt({ machine: !machine, cluster: !cluster });
  // A cloud that answers slowly must not keep our taint on a machine that runs.
  if (stepProperties[step.do].releases) return actOn(location, { step, because: reason }, now.mono + PROOF_LASTS_MS);
  const cleared = isCleared(state, step, now);
  if (!isFreshEnoughFor(state, machine, cleared, now)) return renewProof(state, machine, now);
  const node = cluster.value.nodeName;
  const needsRecheck = stepProperties[step.do].destructive && node !== null;
  if (needsRecheck && !cleared) return { do: 'recheck', location, node, step };
  const expires = machine.requestedAt.mono + PROOF_LASTS_MS;
  const leaveBy = state.cleared ? state.cleared.at + RECHECK_LASTS_MS : Infinity;
  return {
    ...actOn(location, { step, because: reason }, expires),
    alongside: now.mono < leaveBy ? alongside : [],
    leaveBy,
    // One call may leave after its own recheck of any age. Otherwise a slow API server would stop the fence.
    isRechecked: !needsRecheck || state.cleared?.step === stepKey(step),
  };
};

/**
 * Returns whether a recheck has cleared the step to leave. One that is young clears all pods: it says nothing about any
 * of them, and each call names the uid of its pod.
 */
const isCleared = ({ cleared }: RunState, step: Step, now: Moment): boolean => {
  if (cleared === null) return false;
  const isYoung = now.mono - cleared.at < RECHECK_LASTS_MS;
  return cleared.step === stepKey(step) || (isYoung && stepProperties[step.do].makesStale === 'nothing');
};

/**
 * Returns whether the proof is young enough for the step. A proof that was renewed for this step is used as long as
 * possible, because a slow cloud gives no younger one.
 */
const isFreshEnoughFor = (
  { proofRenewed }: RunState,
  { requestedAt }: Observation<MachineFacts>,
  cleared: boolean,
  now: Moment,
): boolean => {
  const spare = proofRenewed ? (cleared ? 0 : RECHECK_TAKES_MS) : KEPT_FOR_THE_CALL_MS;
  return now.mono - requestedAt.mono < PROOF_LASTS_MS - spare;
};

/**
 * Reads the machine again for a fresh proof. If the cloud takes longer to answer than its answer lasts as a proof,
 * there is no proof. Then the run does nothing and tries again later.
 */
const renewProof = (state: RunState, machine: Observation<MachineFacts>, now: Moment): Command => {
  const took = machine.receivedAt - machine.requestedAt.mono;
  const tooSlow = state.proofRenewed && took >= PROOF_LASTS_MS - RECHECK_TAKES_MS;
  if (!tooSlow) return lookAt({ machine: true, disks: false });
  const says = `the cloud took ${Math.round(took)} ms to respond, which is too long for a proof`;
  return waitOrEnd(state, { ms: SLOW_CLOUD_MS, because: because('unavailable', says), until: null }, now);
};
