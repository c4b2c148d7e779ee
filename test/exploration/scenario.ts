import { defaultPolicy, type Policy } from '../../fencing/model/policy.ts';
import type { Step } from '../../fencing/model/steps.ts';
import { ec2 } from './clouds.ts';
import type { Scenario } from './explore.ts';
import { leftAfter, leftVouched, settledHibernated, settledOff } from './left-fences.ts';
import { type Assumption, type Budget, healthy, type World } from './world.ts';

/**
 * The assumption of the design, in seconds: a cloud that still says off 1 s after a start began, a call that takes 1 s,
 * a kubelet that posts its new boot at least 4 s after the start of its machine began, and a kubelet that begins to
 * mount at least 5 s after it. The proof lasts 2 s.
 */
export const assumed: Assumption = { staleness: 1, transit: 1, bootToPost: 4, bootToMount: 5, postsBootFirst: true };

export const acceptsVouching: Policy = { ...defaultPolicy, vouching: 'accepted' };

export interface Special extends Partial<Pick<Scenario, 'runs' | 'slow' | 'assumption' | 'cloud' | 'policy'>> {
  /**
   * Where the scenario begins: in a healthy cluster, after Kubernetes has noticed that the machine is off or
   * hibernated, or right after a run took this step and died. `vouched`: right after the mark of a hibernated machine,
   * of which a person has stated that it is off.
   */
  readonly from?: 'healthy' | 'off' | 'hibernated' | 'vouched' | Step['do'];
  /** What is different there. */
  readonly but?: Partial<World> | ((start: World) => Partial<World>);
}

const startOf = (from: NonNullable<Special['from']>, scenario: Scenario): World => {
  switch (from) {
    case 'healthy':
      return healthy({});
    case 'off':
      return settledOff(scenario);
    case 'hibernated':
      return settledHibernated(scenario);
    case 'vouched':
      return leftVouched(scenario);
    default:
      return leftAfter(from, scenario);
  }
};

/** Returns a scenario, with everything as usual that `special` does not change. */
export const scenario = (
  name: string,
  says: string,
  budget: Partial<Budget>,
  { from = 'healthy', but = {}, ...special }: Special = {},
): Scenario => {
  const start = () => {
    const world = startOf(from, made);
    return { ...world, ...(typeof but === 'function' ? but(world) : but), budget: healthy(budget).budget };
  };
  const made: Scenario = {
    name,
    says,
    start,
    runs: 1,
    slow: new Set(),
    cloud: ec2,
    policy: defaultPolicy,
    assumption: assumed,
    ...special,
  };
  return made;
};
