import { outcomeJson, type OutcomeJson } from '../../fencing/outcome-json.ts';
import type { Outcome } from '../../fencing/outcome.ts';
import { sweep as sweepAll, type Swept } from '../../fencing/sweep.ts';
import { messageLine, outcomeLine } from '../decision-line.ts';
import { isDeadAndUnfenced, measuresOf, metricLine } from '../metrics.ts';
import { metric } from '../names.ts';
import { within, type LambdaContext } from './invocation.ts';
import { wireOnce, type Wiring } from './wire.ts';

export interface SweepAnswer {
  readonly results: readonly OutcomeJson[];
  readonly unreachable: readonly { readonly cluster: string; readonly reason: string }[];
}

/** Finds what events missed. An alarm watches how many dead machines it leaves unfenced. */
export const sweep =
  (wired: () => Promise<Wiring>) =>
  async (_: unknown, context: LambdaContext): Promise<SweepAnswer> => {
    const wiring = await wired();
    const { policy, newRunId } = wiring;
    const swept = await within(wiring, context, () => null, ({ ports, deadline }) => sweepAll({ policy, deadline, newRunId }, ports));
    report(swept, wiring);
    return {
      results: swept.outcomes.map(outcomeJson),
      unreachable: swept.unreachable.map(({ cluster, error }) => ({ cluster, reason: error.message })),
    };
  };

const report = ({ outcomes, unreachable }: Swept, { log, namespace, ports }: Wiring): void => {
  const { wall } = ports.clock.now();
  const line = (outcome: Outcome) => ({ ...outcomeLine(outcome, null), ...metricLine(namespace, wall, measuresOf(outcome, null)) });
  for (const outcome of outcomes) log(line(outcome));
  for (const { cluster, error } of unreachable) log({ ...messageLine('failed', 'cluster-unreachable', error.message, null), cluster });
  const value = outcomes.filter(isDeadAndUnfenced).length;
  log({ ...messageLine('swept', 'swept', `${outcomes.length} machines were looked at`, null), ...metricLine(namespace, wall, [{ name: metric.deadNodeUnfenced, value, unit: 'Count' }]) });
};

export const handler = sweep(wireOnce());
