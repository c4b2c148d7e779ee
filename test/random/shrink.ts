import type { Plan } from './plan.ts';
import { play, type Played } from './simulation.ts';

/** Makes a plan that fails shorter, while it fails in the same way. */

/** Returns how a schedule fails: the invariant that it breaks, `stuck`, or null. */
export const failureOf = ({ violations, stuck }: Pick<Played, 'violations' | 'stuck'>): string | null =>
  violations[0]?.breaks ?? (stuck.length > 0 ? 'stuck' : null);

const simpler = (plan: Plan): readonly Plan[] => [
  ...(plan.faultPeriods.length > 0 ? [{ ...plan, faultPeriods: [] }] : []),
  ...plan.faultPeriods.map((_, at) => ({ ...plan, faultPeriods: plan.faultPeriods.toSpliced(at, 1) })),
  ...(plan.lostEvents > 0 ? [{ ...plan, lostEvents: 0 }] : []),
  ...(plan.doubledEvents > 0 ? [{ ...plan, doubledEvents: 0 }] : []),
  ...(plan.maxSkew > 0 ? [{ ...plan, maxSkew: 0 }] : []),
  ...(plan.stateless > 0 ? [{ ...plan, stateless: 0 }] : []),
  ...(plan.tolerating.length > 0 ? [{ ...plan, tolerating: [] }] : []),
  ...(plan.twoDisks.length > 0 ? [{ ...plan, twoDisks: [] }] : []),
  ...(plan.databases > 1 ? [{ ...plan, databases: 1 }] : []),
];

/** Returns the plan without `size` of its events, from each place. */
const shorter = (plan: Plan, size: number): readonly Plan[] =>
  Array.from({ length: Math.ceil(plan.happenings.length / size) }, (_, at) => ({
    ...plan,
    happenings: plan.happenings.toSpliced(at * size, size),
  }));

const sizesOf = ({ happenings }: Plan): readonly number[] =>
  [2, 4, 8, Infinity].map((part) => (part === Infinity ? 1 : Math.ceil(happenings.length / part))).filter((n) => n > 0);

const firstThat = async (plans: readonly Plan[], failure: string): Promise<Plan | null> => {
  for (const plan of plans) if (failureOf(await play(plan)) === failure) return plan;
  return null;
};

/** Returns a plan that fails in the same way, and from which nothing can be removed. */
export const shrink = async (plan: Plan, failure: string): Promise<Plan> => {
  const candidates = [...sizesOf(plan).flatMap((size) => shorter(plan, size)), ...simpler(plan)];
  const found = await firstThat(
    candidates.filter((one) => JSON.stringify(one) !== JSON.stringify(plan)),
    failure,
  );
  return found ? shrink(found, failure) : plan;
};
