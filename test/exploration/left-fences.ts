import type { Step } from '../../fencing/model/steps.ts';
import { newRun, newVouched, type Scenario } from './explore.ts';
import { moveOn, settle } from './liveness.ts';
import type { RunAt } from './runs.ts';
import { afterVouch } from './surroundings.ts';
import { healthy, type World } from './world.ts';

/**
 * Worlds in which a dead run has left a fence in a certain phase. A search from a healthy cluster reaches the races of
 * a later stop, or of a release, only after many more events.
 */

const MOST_MOVES = 100;

/** Returns the world of a machine that was stopped, once Kubernetes has noticed it. */
export const settledOff = (scenario: Scenario): World =>
  settle({ ...healthy({}), machine: { ...healthy({}).machine, power: 'stopping' } }, scenario).world;

/** Returns the world of a machine that was hibernated, once Kubernetes has noticed it. */
export const settledHibernated = (scenario: Scenario): World =>
  settle({ ...healthy({}), machine: { ...healthy({}).machine, power: 'stopping', hibernates: true } }, scenario).world;

/**
 * Returns the world right after a run of the shipped loop took this step on a machine that was stopped. Shadow mode may
 * begin afterwards.
 */
export const leftAfter = (step: Step['do'], scenario: Scenario): World => {
  const world = settledOff(scenario);
  const policy = { ...scenario.policy, dryRun: false, shadow: false };
  return afterStep(step, { world, run: newRun({ ...scenario, policy }) }, scenario);
};

/**
 * Returns the world right after the mark of a hibernated machine, of which a person has stated that it is off.
 */
export const leftVouched = (scenario: Scenario): World => {
  const hibernated = settledHibernated(scenario);
  const world = afterVouch({ ...hibernated, budget: { ...hibernated.budget, vouches: 1 } });
  if (!world) throw new Error('nobody can vouch for the machine');
  return afterStep('mark', { world, run: newVouched(world, scenario) }, scenario);
};

const afterStep = (
  step: Step['do'],
  from: { readonly world: World; readonly run: RunAt },
  scenario: Scenario,
): World => {
  let at = from;
  for (let moves = 0; moves < MOST_MOVES; moves += 1) {
    const takes = at.run.at === 'act' && at.run.command.step.do === step;
    at = moveOn(at.world, at.run, scenario);
    if (takes) return at.world;
  }
  throw new Error(`no run takes the step ${step}`);
};
