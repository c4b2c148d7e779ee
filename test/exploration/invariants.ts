import { hasOwnTaint } from '../../kubernetes/node-facts.ts';
import { nodeObject } from './facts.ts';
import type { Step } from '../../fencing/model/steps.ts';
import { stepTraits } from '../../fencing/model/steps.ts';
import type { Assumption, World } from './world.ts';

/** What must hold in every state of every schedule. */

export type Invariant = 'one-writer' | 'taint-off-a-running-machine' | 'act-under-proof' | 'nothing-foreign-taken';

/** How long a proof justifies a call (ticks). */
export const PROOF_TICKS = 2;

/** Returns whether the disk was taken from the machine while its guest wrote to it. */
const takenFromWriter = (before: World, after: World): boolean =>
  before.disk === 'here' && after.disk !== 'here' && before.machine.writes;

const mayRun = ({ machine: { power } }: World): boolean =>
  power === 'running' || power === 'starting' || power === 'stopping';

/** Returns whether our taint is on the Node of a machine that runs although a run has come to its end since. */
const isTaintedAnyway = (world: World): boolean =>
  world.machine.power === 'running' && world.swept && world.node !== null && hasOwnTaint(nodeObject(world.node));

/** Returns what a change of the world breaks, whoever made it. */
export const brokenIn = (before: World, after: World): Invariant | null => {
  if (takenFromWriter(before, after)) return 'one-writer';
  return isTaintedAnyway(after) && !isTaintedAnyway(before) ? 'taint-off-a-running-machine' : null;
};

/**
 * Returns what a step of Cloudfence breaks by taking effect in this world. The machine may have been started after the
 * proof was read, by no more than the proof's age.
 */
export const brokenBy = (step: Step, world: World, { staleness, transit }: Assumption): Invariant | null => {
  if (!stepTraits[step.do].destructive || !mayRun(world)) return null;
  const withinProof = world.machine.power !== 'stopping' && world.machine.started <= staleness + PROOF_TICKS + transit;
  return withinProof ? null : 'act-under-proof';
};
