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
  known: RunState,
  act: { readonly step: Step; readonly because: Reason },
  now: Moment,
): RunState => {
  const steps = [...known.steps, reportImagined(act, now)];
  const cluster = known.cluster && { ...known.cluster, value: clusterAfter(known.cluster.value, act.step) };
  const sinceLook = new Set(known.memory.sinceLook).add(stepKey(act.step));
  const asked = new Map(known.memory.takenAt).set(stepKey(act.step), now.mono);
  return {
    ...known,
    cluster,
    steps,
    ending: isLast(act.step) ? imaginedEnding({ ...known, steps }) : null,
    memory: { ...known.memory, sinceLook, takenAt: asked },
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
export const hasImagined = (known: Steps): boolean => imaginedIn(known).length > 0;

/**
 * Returns the ending of a run after its imagined steps. The last one decides the outcome. None of them has happened.
 */
export const imaginedEnding = (known: Steps, afterwards = ''): Ending => {
  const steps = imaginedIn(known);
  const last = steps.at(-1)?.step;
  const outcome = last !== undefined && stepProperties[last].letsGo ? 'would-release' : 'would-fence';
  return {
    outcome,
    reason: because(
      outcome,
      `${known.policy.dryRun ? 'dry run' : 'shadow mode'}: Cloudfence would take ${counted(steps.length, 'step')}${afterwards}`,
    ),
    lookAgainIn: null,
    retry: false,
  };
};
