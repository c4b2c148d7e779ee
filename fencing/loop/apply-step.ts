import type { PodFacts } from '../model/cluster-facts.ts';
import type { StepResult } from '../model/cluster.ts';
import { PermissionDenied, Refused, type CloudfenceError } from '../model/errors.ts';
import { clusterAfter, withoutDeletedPods } from './facts-after-step.ts';
import { NOT_ASKED, type Ending, type RunState } from './state.ts';
import { unwantedSince } from './reads.ts';
import type { StepReport } from '../model/outcome.ts';
import { because, pluralize, type Reason } from '../model/reason.ts';
import type { FenceRecord } from '../model/record.ts';
import { originOf } from '../rules/pods.ts';
import { stepKey, stepProperties, describeTarget, type Step } from '../model/steps.ts';
import type { PlannedStep, Memory, Moment } from '../rules/view.ts';

/** How a step that succeeded, was rejected, or was only simulated changes the state of a run. */

const report = (
  { step, because: reason }: PlannedStep,
  sentAt: Moment,
  now: Moment,
  result: StepReport['result'],
  message: string | null,
): StepReport => ({
  step: step.do,
  target: describeTarget(step),
  because: reason,
  at: sentAt.wall,
  ms: Math.round(now.mono - sentAt.mono),
  result,
  message,
});

/** Returns the run state after a step took effect, in this call or earlier. */
export const applyStepResult = (
  state: RunState,
  act: PlannedStep,
  result: StepResult,
  sentAt: Moment,
  now: Moment,
): RunState => ({
  ...state,
  ...factsAfter(state, act.step, result),
  record: recordAfter(state, act.step),
  memory: memoryAfter(state, act.step, now),
  ending: endingAfter(act),
  endedBoot: endedBootAfter(state, act),
  steps: [...state.steps, { ...report(act, sentAt, now, result, null), ...podOf(state, act.step, result) }],
  cleared: stepProperties[act.step.do].makesStale === 'nothing' ? state.cleared : null,
  failures: 0,
  refusals: without(state.refusals, stepKey(act.step)),
});

/**
 * Returns the pod that the step has deleted. Returns null if the pod was already gone, because then no report is
 * needed.
 */
const podOf = ({ cluster }: RunState, step: Step, result: StepResult): Pick<StepReport, 'pod'> => {
  if (step.do !== 'delete-pod' || result !== 'done') return {};
  const facts = cluster?.value.pods.find(({ uid }) => uid === step.pod.uid);
  return { pod: { ...step.pod, hasVolume: (facts?.volumes.length ?? 0) > 0 } };
};

const without = (refusals: RunState['refusals'], key: string): RunState['refusals'] =>
  new Map([...refusals].filter(([step]) => step !== key));

/**
 * Returns the facts that remain valid after a step. Everything else is read again. The mark and the park change the
 * Node exactly as their patches say. Kubernetes may delete pods because of the mark. That does no harm, because each
 * delete names the uid of its pod.
 */
const factsAfter = (
  { machine, cluster }: RunState,
  step: Step,
  result: StepResult,
): Pick<RunState, 'machine' | 'cluster'> => {
  switch (stepProperties[step.do].makesStale) {
    case 'nothing':
      return { machine, cluster };
    case 'its Node':
      return {
        machine,
        cluster: cluster && result === 'done' ? { ...cluster, value: clusterAfter(cluster.value, step) } : null,
      };
    case 'the cluster':
      return { machine, cluster: null };
    case 'everything':
      return { machine: null, cluster: null };
  }
};

/** Returns the boot that a fence was for. Null if the record does not name it, or not for good. */
const bootIn = ({ generation, generationDrifts }: FenceRecord): string | null =>
  generationDrifts === true ? null : generation;

const MOVES_FENCE: ReadonlySet<Step['do']> = new Set(['park', 'mark']);

/** Returns the boot of the fence that this run has ended, after the step. A new mark begins another fence. */
const endedBootAfter = ({ record, endedBoot }: RunState, { step, because: { code } }: PlannedStep) => {
  if (step.do === 'release-node') return bootIn(step.record);
  if (code === 'nothing-left-to-free' && MOVES_FENCE.has(step.do)) return record && bootIn(record);
  return step.do === 'mark' ? undefined : endedBoot;
};

const recordAfter = ({ record }: RunState, step: Step): FenceRecord | null => {
  switch (stepProperties[step.do].record) {
    case 'stays':
      return record;
    case 'is written':
      return ('record' in step ? step.record : null) ?? record;
    case 'is gone':
      return null;
  }
};

/**
 * Adds a step to the steps taken, unless it is `note-stopping`. A note frees nothing, so it must not make a machine
 * whose Node is gone count as fenced.
 */
const askedAfter = ({ takenAt: asked }: Memory, step: Step, now: Moment): Memory['takenAt'] =>
  step.do === 'note-stopping' ? asked : new Map(asked).set(stepKey(step), now.mono);

const deletedAfter = ({ deleted }: Memory, pods: readonly PodFacts[], step: Step, now: Moment): Memory['deleted'] => {
  const pod = step.do === 'delete-pod' ? pods.find(({ uid }) => uid === step.pod.uid) : undefined;
  return pod ? new Map(deleted).set(pod.uid, { origin: originOf(pod), at: now.mono }) : deleted;
};

const memoryAfter = ({ memory, cluster, identityRules }: RunState, step: Step, now: Moment): Memory => {
  const sinceLook = new Set(memory.sinceLook).add(stepKey(step));
  const freed =
    step.do === 'detach-disk'
      ? (cluster?.value.volumes ?? []).filter((volume) => identityRules.diskOf(volume) === step.disk)
      : [];
  return {
    ...memory,
    takenAt: askedAfter(memory, step, now),
    sinceLook,
    unwanted:
      step.do === 'delete-pod' && cluster
        ? unwantedSince(memory, withoutDeletedPods(cluster.value, sinceLook), now)
        : memory.unwanted,
    deleted: deletedAfter(memory, cluster?.value.pods ?? [], step, now),
    detached: new Set([...memory.detached, ...freed.map((volume) => volume.key)]),
    // A park completes the work that the cap admitted. If the taint is set again, the fence needs another reservation.
    ...(step.do === 'park' && NOT_ASKED),
    marks: memory.marks + (step.do === 'mark' ? 1 : 0),
    polls: 0,
  };
};

/** Returns how the run ends if nothing is left to look at after the step. Otherwise returns null. */
const endingAfter = ({ step, because: reason }: PlannedStep): Ending | null => {
  const outcome = stepProperties[step.do].ends;
  return outcome && { outcome, reason, lookAgainIn: null, retry: false };
};

const REFUSALS_BEFORE_GIVING_UP = 6;

/**
 * Returns the run state after a step that was rejected, or whose effect is unknown. The next look shows whether the
 * step took effect. If a step about one object is permanently rejected, the run skips it. If any other step is
 * permanently rejected, the run ends.
 */
export const applyStepError = (
  state: RunState,
  act: PlannedStep,
  error: CloudfenceError,
  sentAt: Moment,
  now: Moment,
): RunState => {
  const refused = error instanceof Refused;
  const key = stepKey(act.step);
  const times = refused ? (state.refusals.get(key) ?? 0) + 1 : 0;
  const forGood = times >= REFUSALS_BEFORE_GIVING_UP || error instanceof PermissionDenied;
  const after: RunState = {
    ...state,
    refusals: refused ? new Map(state.refusals).set(key, times) : without(state.refusals, key),
    steps: [
      ...state.steps,
      report(act, sentAt, now, refused || error instanceof PermissionDenied ? 'refused' : 'failed', error.message),
    ],
  };
  if (!forGood) return after;
  const failure = `${describeTarget(act.step)}: ${error.message}`;
  if (stepProperties[act.step.do].perObject)
    return { ...after, memory: { ...after.memory, declined: new Map(after.memory.declined).set(key, failure) } };
  const reason = because(error instanceof PermissionDenied ? 'denied' : 'step-refused', failure);
  return { ...after, ending: { outcome: 'failed', reason, lookAgainIn: null, retry: true } };
};

/** Reports a step of a dry run as if it were taken. Sends nothing. */
export const reportSimulatedStep = (act: PlannedStep, now: Moment): StepReport =>
  report(act, now, now, 'dry-run', null);

/**
 * Returns the run state with the facts as they would be after a step. A dry run, or a run in shadow mode, bases its
 * next decisions on these facts. Pure: sends nothing.
 */
export const applySimulatedStep = (
  state: RunState,
  act: { readonly step: Step; readonly because: Reason },
  now: Moment,
): RunState => {
  const steps = [...state.steps, reportSimulatedStep(act, now)];
  const cluster = state.cluster && { ...state.cluster, value: clusterAfter(state.cluster.value, act.step) };
  const sinceLook = new Set(state.memory.sinceLook).add(stepKey(act.step));
  const asked = new Map(state.memory.takenAt).set(stepKey(act.step), now.mono);
  return {
    ...state,
    cluster,
    steps,
    ending: isLast(act.step) ? simulatedEnding({ ...state, steps }) : null,
    memory: { ...state.memory, sinceLook, takenAt: asked },
  };
};

/** Returns whether the simulation ends with this step. */
const isLast = (step: Step): boolean =>
  step.do === 'park'
    ? step.record.phase === 'fenced'
    : stepProperties[step.do].releases || ['power-off', 'detach-disk', 'delete-node'].includes(step.do);

type Steps = Pick<RunState, 'policy' | 'steps'>;

const imaginedIn = ({ steps }: Steps): RunState['steps'] => steps.filter(({ result }) => result === 'dry-run');

/** Returns whether the run has simulated a step. */
export const hasSimulatedSteps = (state: Steps): boolean => imaginedIn(state).length > 0;

/**
 * Returns the ending of a run after its simulated steps. The last step decides the outcome. None of the steps has been
 * sent.
 */
export const simulatedEnding = (state: Steps, afterwards = ''): Ending => {
  const steps = imaginedIn(state);
  const last = steps.at(-1)?.step;
  const outcome = last !== undefined && stepProperties[last].releases ? 'would-release' : 'would-fence';
  return {
    outcome,
    reason: because(
      outcome,
      `${state.policy.dryRun ? 'dry run' : 'shadow mode'}: Cloudfence would take ` +
        `${pluralize(steps.length, 'step')}${afterwards}`,
    ),
    lookAgainIn: null,
    retry: false,
  };
};
