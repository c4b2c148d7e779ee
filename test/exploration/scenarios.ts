import { defaultPolicy } from '../../fencing/model/policy.ts';
import { azureDrifting, azureManaged, ec2, gce } from './clouds.ts';
import type { Scenario } from './explore.ts';
import type { Step } from '../../fencing/model/steps.ts';
import type { Story } from './search.ts';
import { leftAfter } from './left-fences.ts';
import { type Assumption, type Budget, healthy } from './world.ts';

/**
 * The assumption of the design, in seconds: a cloud that still says off 1 s after a start began, a call that is 1 s on
 * its way, a kubelet that posts its new boot no earlier than 4 s after its machine's start began, and one that begins to
 * mount no earlier than 5 s after it. The proof lasts 2 s.
 */
export const assumed: Assumption = { staleness: 1, transit: 1, bootToPost: 4, bootToMount: 5, postsBootFirst: true };

const scenario = (
  name: string,
  says: string,
  budget: Partial<Budget>,
  special: Partial<Pick<Scenario, 'runs' | 'looksAtOnce' | 'assumption' | 'cloud' | 'policy'>> = {},
): Scenario => ({
  name,
  says,
  start: () => healthy(budget),
  runs: 1,
  looksAtOnce: false,
  cloud: ec2,
  policy: defaultPolicy,
  assumption: assumed,
  ...special,
});

/** A scenario that begins with a fence that a dead run left. */
const left = (name: string, says: string, step: Step['do'], budget: Partial<Budget>): Scenario => {
  const plain = scenario(name, says, budget);
  return { ...plain, start: () => leftAfter(step, plain, budget) };
};

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
  scenario(
    'power-off',
    'The kubelet is cut off, and the policy is to power the machine off.',
    { cuts: 1, starts: 1 },
    { policy: { ...defaultPolicy, unreachable: 'power-off' } },
  ),
  scenario('removed', 'The machine is stopped, and a person takes the fence or our taint away.', {
    stops: 1,
    removals: 1,
  }),
  scenario('restart', 'The machine is stopped and started again.', { stops: 1, starts: 1 }),
  scenario('restart-and-renewal', 'The machine is stopped and started again, and its kubelet renews its Lease.', {
    stops: 1,
    starts: 1,
    renewals: 1,
  }),
  scenario('restart-and-cut-off', 'The machine is stopped and started again, and its kubelet is cut off.', {
    stops: 1,
    starts: 1,
    cuts: 1,
  }),
  left('left-marked', 'A run died right after the mark. The machine is started and stopped again.', 'mark', {
    starts: 1,
    stops: 1,
  }),
  left('left-parked', 'A Node is parked. The machine is started and stopped again.', 'park', { starts: 1, stops: 1 }),
  scenario('forgotten', 'The machine is terminated, and EC2 forgets it.', { stops: 1, terminations: 1, forgets: 1 }),
  scenario('azure-stop', 'Azure: the machine is deallocated.', { stops: 1 }, { cloud: azureManaged }),
  scenario('azure-shutdown', 'Azure: the guest shuts itself down.', { shutdowns: 1 }, { cloud: azureManaged }),
  scenario(
    'azure-drift',
    'Azure: the machine is deallocated, and each detach changes its generation.',
    { stops: 1 },
    { cloud: azureDrifting },
  ),
  scenario(
    'azure-terminate',
    'Azure: the machine is deallocated and deleted.',
    { stops: 1, terminations: 1 },
    { cloud: azureManaged },
  ),
  scenario('google-stop', 'Google Cloud: the machine is stopped.', { stops: 1 }, { cloud: gce }),
  scenario(
    'google-terminate',
    'Google Cloud: the machine is stopped and deleted.',
    { stops: 1, terminations: 1 },
    { cloud: gce },
  ),
  scenario(
    'two-runs-coarse',
    'The machine is stopped once, and there are two runs at once. Each looks at everything at one moment.',
    { stops: 1 },
    { runs: 2, looksAtOnce: true },
  ),
  scenario('two-runs', 'The machine is stopped once, and there are two runs at once.', { stops: 1 }, { runs: 2 }),
];

/** A restart where one term of the assumption does not hold, and what that breaks. */
const broken = (name: string, says: string, breaks: Story['breaks'], term: Partial<Assumption>) => ({
  breaks,
  scenario: scenario(
    name,
    `The machine is stopped and started again, and ${says}.`,
    { stops: 1, starts: 1 },
    { assumption: { ...assumed, ...term } },
  ),
});

/** Each term of the assumption, turned until something breaks. */
export const brokenAssumptions = [
  broken('mounts-early', 'its kubelet mounts before a proof has expired everywhere', 'one-writer', {
    bootToMount: 2,
    postsBootFirst: false,
  }),
  broken('says-off-for-long', 'the cloud says off for 3 s after the start', 'one-writer', { staleness: 3 }),
  broken('long-on-its-way', 'a call is on its way for 4 s', 'one-writer', { transit: 4 }),
  broken('posts-early', 'its kubelet posts the new boot while the cloud still says off', 'recovery', { bootToPost: 0 }),
] as const;
