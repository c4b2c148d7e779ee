import { outcomeJson, type OutcomeJson } from '../fencing/outcome-json.ts';
import type { Outcome } from '../fencing/outcome.ts';
import { sweep as sweepAll, type Swept } from '../fencing/sweep.ts';
import { messageLine, outcomeLine } from './decision-line.ts';
import { isDeadAndUnfenced, measuresOf } from './metrics.ts';
import { metric } from './names.ts';
import { within, type TimeLimit } from './invocation.ts';
import type { Wiring } from './wiring.ts';

export interface SweepAnswer {
  readonly results: readonly OutcomeJson[];
  readonly unreachable: readonly { readonly cluster: string; readonly reason: string }[];
}

/** Finds what events missed. An alarm watches how many dead machines it leaves unfenced. */
export const sweep =
  (wired: () => Promise<Wiring>) =>
  async (_: unknown, limit: TimeLimit): Promise<SweepAnswer> => {
    const wiring = await wired();
    const { policy, newRunId } = wiring;
    const swept = await within(wiring, limit, () => null, ({ ports, deadline }) => sweepAll({ policy, deadline, newRunId }, ports));
    report(swept, wiring);
    return {
      results: swept.outcomes.map(outcomeJson),
      unreachable: swept.unreachable.map(({ cluster, error }) => ({ cluster, reason: error.message })),
    };
  };

const report = ({ outcomes, unreachable }: Swept, { log, measured }: Wiring): void => {
  const line = (outcome: Outcome) => ({ ...outcomeLine(outcome, null), ...measured(measuresOf(outcome, null)) });
  for (const outcome of outcomes) log(line(outcome));
  for (const { cluster, error } of unreachable) log({ ...messageLine('failed', 'cluster-unreachable', error.message, null), cluster });
  const value = outcomes.filter(isDeadAndUnfenced).length;
  log({ ...messageLine('swept', 'swept', `${outcomes.length} machines were looked at`, null), ...measured([{ name: metric.deadNodeUnfenced, value, unit: 'Count' }]) });
};
