import type { Step } from '../../fencing/model/steps.ts';
import { newRun, type Scenario } from './explore.ts';
import { moveOn, settle } from './liveness.ts';
import { healthy, type World } from './world.ts';

/**
 * Worlds in which a dead run has left a fence at a certain phase. A search from a healthy cluster gets to the races of a
 * later stop, or of a release, only after many more events.
 */

const MOST_MOVES = 100;

/** Returns the world of a machine that was stopped, once Kubernetes has noticed it. */
export const settledOff = (scenario: Scenario): World =>
  settle({ ...healthy({}), machine: { ...healthy({}).machine, power: 'stopping' } }, scenario).world;

/** Returns the world right after a run of the shipped loop took this step on a machine that was stopped. */
export const leftAfter = (step: Step['do'], scenario: Scenario): World => {
  const stopped = settledOff(scenario);
  let at = { world: stopped, run: newRun(scenario) };
  for (let moves = 0; moves < MOST_MOVES; moves += 1) {
    const takes = at.run.at === 'act' && at.run.command.step.do === step;
    at = moveOn(at.world, at.run, scenario);
    if (takes) return at.world;
  }
  throw new Error(`no run takes the step ${step}`);
};
