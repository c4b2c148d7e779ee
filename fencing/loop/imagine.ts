import { reportImagined } from './apply-step.ts';
import { clusterAfter } from './facts-after.ts';
import type { Ending, RunState } from './state.ts';
import { because, counted, type Reason } from '../model/reason.ts';
import { stepKey, stepProperties, type Step } from '../model/steps.ts';
import type { Moment } from '../rules/view.ts';

/**
 * Returns the run state with the facts as they would be after a step. A dry run, or a run in shadow mode, makes the same
 * decisions on these facts. Pure: nothing is sent.
 */
export const applyImagined = (
  state: RunState,
  act: { readonly step: Step; readonly because: Reason },
  now: Moment,
): RunState => {
  const steps = [...state.steps, reportImagined(act, now)];
  const cluster = state.cluster && { ...state.cluster, value: clusterAfter(state.cluster.value, act.step) };
  const sinceLook = new Set(state.memory.sinceLook).add(stepKey(act.step));
  const asked = new Map(state.memory.takenAt).set(stepKey(act.step), now.mono);
  return {
    ...state,
    cluster,
    steps,
    ending: isLast(act.step) ? imaginedEnding({ ...state, steps }) : null,
    memory: { ...state.memory, sinceLook, takenAt: asked },
  };
};

/** Returns whether a run has nothing more to imagine after the step. */
const isLast = (step: Step): boolean =>
  step.do === 'park'
    ? step.record.phase === 'fenced'
    : stepProperties[step.do].letsGo || ['power-off', 'detach-disk', 'delete-node'].includes(step.do);

type Steps = Pick<RunState, 'policy' | 'steps'>;

const imaginedIn = ({ steps }: Steps): RunState['steps'] => steps.filter(({ result }) => result === 'dry-run');

/** Returns whether the run has imagined a step. */
export const hasImagined = (state: Steps): boolean => imaginedIn(state).length > 0;

/**
 * Returns the ending of a run after its imagined steps. The last one decides the outcome. None of them has happened.
 */
export const imaginedEnding = (state: Steps, afterwards = ''): Ending => {
  const steps = imaginedIn(state);
  const last = steps.at(-1)?.step;
  const outcome = last !== undefined && stepProperties[last].letsGo ? 'would-release' : 'would-fence';
  return {
    outcome,
    reason: because(
      outcome,
      `${state.policy.dryRun ? 'dry run' : 'shadow mode'}: Cloudfence would take ${counted(steps.length, 'step')}${afterwards}`,
    ),
    lookAgainIn: null,
    retry: false,
  };
};
