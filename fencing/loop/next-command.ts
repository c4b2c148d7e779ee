import { decide } from '../rules/decide.ts';
import { isUnmarked } from '../rules/mark.ts';
import { isLeftToOthers } from '../rules/waits.ts';
import type { ClusterFacts } from '../model/cluster-facts.ts';
import type { MachineFacts } from '../model/machine.ts';
import { actOn, type Command, lookAt, RECHECK_LASTS_MS } from './command.ts';
import { viewOf, type RunState, type Observation } from './state.ts';
import { hasSimulatedSteps, simulatedEnding } from './apply-step.ts';
import { withoutDeletedPods } from './facts-after-step.ts';
import type { OutcomeKind } from '../model/outcome.ts';
import { endingAtDeadline, outcomeOf, eventsAtEnd, waitingEnd } from './ending.ts';
import { PROOF_LASTS_MS } from '../model/permit.ts';
import { beginsNothing, timing } from '../model/policy.ts';
import { because, type ReasonCode } from '../model/reason.ts';
import { markKey, stepKey, stepProperties, isOnlyCleanup, type Step } from '../model/steps.ts';
import type { Decision, Moment, View } from '../rules/view.ts';

/** Chooses the next command from the state of a run: a look, a recheck, a step, a sleep, or the end. */

/**
 * The part of a proof's lifetime that is reserved for the recheck and the call. A proof with less remaining time is
 * renewed before a step.
 */
const KEPT_FOR_THE_CALL_MS = 500;
/** If facts about the machine are older than this, they are read again before any decision. */
const MACHINE_FACTS_LAST_MS = PROOF_LASTS_MS - KEPT_FOR_THE_CALL_MS;
/** The pause between two attempts to get a proof if the cloud answers too slowly. */
const SLOW_CLOUD_MS = 2_000;
/** The time that a recheck between the proof and the call may take. */
const RECHECK_TAKES_MS = 200;

type StepDecision = Extract<Decision, { do: 'step' }>;

const takenByHand: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['fence-removed-by-hand', 'taint-removed-by-hand']);

/** Returns the next command for the present run state. Pure. */
export const nextCommand = (state: RunState, now: Moment): Command => {
  if (state.ending) return finishRun(state, now);
  if (state.resumeAt !== null && state.resumeAt > now.mono) return sleepOrEnd(state, now);
  if (now.mono >= state.deadline) return { do: 'end', ending: endingAtDeadline(state) };
  if (!state.location) return state.machine ? { do: 'locate', facts: state.machine.value } : lookAt({ machine: true });
  if (isStatementUnbound(state)) return lookAt({ cluster: true });
  const machine = !state.machine || now.mono - state.machine.receivedAt >= MACHINE_FACTS_LAST_MS;
  const cluster = !state.machine || !state.cluster || isOutdated(state.cluster, now);
  const view = viewOf(state, now);
  if (!view || machine || cluster) return lookAt({ machine, cluster });
  const decision = decide(view);
  const next = needsLook(state, decision) ? waitAtOnce(view) : decision;
  return next ? commandForDecision(state, next, now) : lookAt({ cluster: true });
};

/**
 * Returns whether it is not known yet to which fence a person's statement applies: to the one that stands when the
 * command begins. The cloud may not answer for a long time, and another fence may begin meanwhile. So the Node is read
 * before the machine.
 */
const isStatementUnbound = ({ request, memory }: RunState): boolean =>
  request.accepted !== null && memory.firstFence === undefined;

/**
 * Returns whether facts about the cluster are too old for a decision. Their age counts from the answer, because a slow
 * API server must not prevent the fence. But if the read itself took long, the process was frozen, and a person may
 * have paused Cloudfence or opted the Node out since then.
 */
const isOutdated = ({ requestedAt, receivedAt }: Observation<ClusterFacts>, now: Moment): boolean =>
  now.mono - receivedAt >= timing.clusterFacts || receivedAt - requestedAt.mono >= timing.clusterRead;

const isAllOf = ({ memory: { sinceLook } }: Pick<View, 'memory'>, kinds: ReadonlySet<Step['do']>): boolean =>
  [...sinceLook].every((key) => [...kinds].some((kind) => key.startsWith(`${kind} `)));

const PARK: ReadonlySet<Step['do']> = new Set(['park']);
const FREES_VOLUMES: ReadonlySet<Step['do']> = new Set(['mark', 'fail-pod', 'delete-pod']);

/**
 * Returns whether the decision needs a new look, because steps were taken since the last one. Deletes of pods need no
 * look: each call names the uid of its pod, and the pods are known since before the mark. The end of a parked fence
 * needs no look: the patch has tested the Node, and a later sweep finds work that comes back.
 */
const needsLook = (state: RunState, decision: Decision): boolean =>
  state.memory.sinceLook.size > 0 &&
  !hasSimulatedSteps(state) &&
  !(decision.do === 'step' && stepProperties[decision.step.do].makesStale === 'nothing') &&
  !(decision.do === 'end' && decision.outcome === 'fenced' && isAllOf(state, PARK));

/**
 * Returns the wait for attachments that can begin right after all pods are deleted, or null. If a pod still exists, the
 * look after the wait shows it. No step is taken before that look. A run that has deleted pods before looks first, to
 * find out which of them come back.
 */
const waitAtOnce = (view: View): Decision | null => {
  const { memory, cluster } = view;
  const { sinceLook, failedSinceLook, deleted } = memory;
  const isFirst = [...deleted.keys()].every((uid) => sinceLook.has(`delete-pod ${uid}`));
  if (!isFirst || failedSinceLook.size > 0 || !isAllOf(view, FREES_VOLUMES)) return null;
  const decision = decide({ ...view, cluster: withoutDeletedPods(cluster, sinceLook) });
  return decision.do === 'wait' && decision.until !== null ? decision : null;
};

const waitsForOthers: ReadonlySet<ReasonCode> = new Set<ReasonCode>([
  'attachments-going',
  'pods-going',
  'name-reused',
  'step-refused',
]);

/**
 * Returns whether the run about a machine that is off ends while only others can remove what is left, such as a CSI
 * attacher that is down, or before the fence could begin, because the mark was rejected.
 */
const isLeftWaiting = (state: RunState, now: Moment): boolean => {
  const view = viewOf(state, now);
  if (!view?.memory.firstOff || !state.ending || !waitsForOthers.has(state.ending.reason.code)) return false;
  return isLeftToOthers(view) || (state.ending.reason.code === 'step-refused' && isUnmarked(view));
};

/**
 * Returns whether the fence gives its place under the cap back: nothing is left for Cloudfence to do, or someone
 * removed the fence.
 */
const endsTheFence = (state: RunState, now: Moment): boolean => {
  const {
    ending,
    policy,
    memory: { admission },
  } = state;
  if (!ending || policy.dryRun) return false;
  const over =
    ending.outcome === 'fenced' ||
    ending.outcome === 'released' ||
    (ending.outcome === 'ignored' && (admission?.admitted === true || ending.reason.code === 'no-node'));
  return over || takenByHand.has(ending.reason.code) || isLeftWaiting(state, now);
};

/**
 * Returns the boot of the fence that the Node shows, as it stands in the ledger. Null if it is not known: if the
 * generation drifts, the fence was reserved under another one.
 */
const presentBoot = ({ memory, record, machine, request }: RunState): string | null => {
  const own = record?.machine === request.machine ? record : null;
  if (own?.generationDrifts === true || machine?.value.generationDrifts === true) return null;
  return memory.admittedBoot ?? own?.generation ?? machine?.value.generation ?? null;
};

/**
 * Returns the boots whose fence has ended. A fence that was moved to the present boot may stand in the ledger under
 * both of its boots: someone may have reserved the present one before there was nothing left to free.
 */
const endedBoots = (state: RunState): readonly (string | null)[] => {
  if (state.endedBoot === undefined) return [presentBoot(state)];
  return state.record === null ? [state.endedBoot] : [state.endedBoot, presentBoot(state)];
};

const finishRun = (state: RunState, now: Moment): Command => {
  const boot = endedBoots(state)[state.concluded];
  if (state.location && boot !== undefined && endsTheFence(state, now))
    return { do: 'conclude', location: state.location, boot };
  const outcome = outcomeOf(state, now);
  const events = eventsAtEnd(outcome);
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
      return isOnlySimulated(state, decision.step)
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
      if (endsImagined(state, decision.outcome)) return { do: 'end', ending: simulatedEnding(state) };
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
 * Returns whether the step is only simulated. Shadow mode does not begin a fence. It still removes what Cloudfence left
 * on the Node, unless the facts contain a simulated step.
 */
const isOnlySimulated = ({ policy, cluster, memory }: RunState, step: Step): boolean => {
  if (policy.dryRun || !policy.shadow) return policy.dryRun;
  return memory.sinceLook.size > 0 || !isOnlyCleanup(step, cluster?.value.node ?? null);
};

/**
 * Ends a run with simulated steps that would have to wait. A simulated step has no effect for which the run could wait,
 * so the run ends with the steps simulated so far.
 */
const imaginedWaitEnds = (state: RunState): Command | null =>
  hasSimulatedSteps(state)
    ? { do: 'end', ending: simulatedEnding(state, ', and would then wait for Kubernetes') }
    : null;

/** Returns whether only simulated steps led to this end. */
const endsImagined = (state: RunState, outcome: OutcomeKind): boolean =>
  hasSimulatedSteps(state) && (outcome === 'fenced' || outcome === 'released');

type Wait = Pick<Extract<Decision, { do: 'wait' }>, 'ms' | 'because' | 'until'>;

/**
 * If something else may end the wait, the wait lasts at most until the run's deadline. If any other wait is longer than
 * that, the run ends.
 */
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
  // If the cloud answers too slowly for a proof, Cloudfence must still remove its taint from a machine that runs.
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
    // A single step may be sent after its own recheck, whatever the age of the recheck. Otherwise, a slow API server
    // would block the fence.
    isRechecked: !needsRecheck || state.cleared?.step === stepKey(step),
  };
};

/**
 * Returns whether a recheck allows the step to be sent. A recent recheck allows the deletion of all pods: it contains
 * no facts about a single pod, and each call names the uid of its pod.
 */
const isCleared = ({ cleared }: RunState, step: Step, now: Moment): boolean => {
  if (cleared === null) return false;
  const isYoung = now.mono - cleared.at < RECHECK_LASTS_MS;
  return cleared.step === stepKey(step) || (isYoung && stepProperties[step.do].makesStale === 'nothing');
};

/**
 * Returns whether the proof is young enough for the step. A proof that was renewed for this step is used until it
 * expires, because a slow cloud cannot give a younger one.
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
 * Reads the machine again for a fresh proof. If the cloud takes longer to answer than a proof lasts, no proof is
 * possible. The run then takes no step, and tries again later.
 */
const renewProof = (state: RunState, machine: Observation<MachineFacts>, now: Moment): Command => {
  const took = machine.receivedAt - machine.requestedAt.mono;
  const tooSlow = state.proofRenewed && took >= PROOF_LASTS_MS - RECHECK_TAKES_MS;
  if (!tooSlow) return lookAt({ machine: true, disks: false });
  const says = `the cloud took ${Math.round(took)} ms to respond, which is too long for a proof`;
  return waitOrEnd(state, { ms: SLOW_CLOUD_MS, because: because('unavailable', says), until: null }, now);
};
