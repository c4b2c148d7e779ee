import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { Scenario } from './explore.ts';
import { type Assumption, type Budget, healthy } from './world.ts';

/**
 * The assumption of the design, in seconds: a cloud that still says off 1 s after a start began, a call that is 1 s on
 * its way, and a kubelet that begins to mount no earlier than 5 s after its machine's start began. The proof lasts 2 s.
 */
export const assumed: Assumption = { staleness: 1, transit: 1, bootToMount: 5, postsBootFirst: true };

const scenario = (name: string, says: string, budget: Partial<Budget>, assumption = assumed): Scenario => ({
  name,
  says,
  start: healthy(budget),
  policy: defaultPolicy,
  assumption,
});

/** What may happen besides: runs begin, are killed or frozen at any moment, and time passes. */
export const scenarios: readonly Scenario[] = [
  scenario('stop', 'The machine is stopped once.', { stops: 1 }),
  scenario('stop-and-fault', 'The machine is stopped, and one call fails or loses its answer.', {
    stops: 1,
    faults: 1,
  }),
  scenario('terminate', 'The machine is stopped and terminated, and its Node is deleted.', {
    stops: 1,
    terminations: 1,
  }),
  scenario('cut-off', 'The kubelet is cut off, and the machine may be stopped.', { stops: 1, cuts: 1 }),
  scenario('removed', 'The machine is stopped, and a person takes the fence or our taint away.', {
    stops: 1,
    removals: 1,
  }),
  scenario('restart', 'The machine is stopped and started again.', { stops: 1, starts: 1 }),
  scenario('restart-and-cut-off', 'The machine is stopped and started again, and its kubelet is cut off.', {
    stops: 1,
    starts: 1,
    cuts: 1,
  }),
];

/** The same restart where the assumption does not hold: the kubelet mounts too early. Something has to break. */
export const tooEarly: Scenario = scenario(
  'too-early',
  'The machine is stopped and started again, and its kubelet mounts a disk before a proof has expired everywhere.',
  { stops: 1, starts: 1 },
  { ...assumed, bootToMount: 2 },
);
