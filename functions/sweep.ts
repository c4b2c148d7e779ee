import { counted } from '../fencing/model/reason.ts';
import type { RunState } from '../fencing/loop/state.ts';
import type { Command } from '../fencing/loop/next-command.ts';
import { type Outcome, outcomeJson, type OutcomeJson } from '../fencing/model/outcome.ts';
import { sweep as sweepAll, type Swept } from '../fencing/sweep/sweep.ts';
import { messageLine, outcomeLine } from './decision-log.ts';
import { isNews, tellUnreachable, type TimeLimit, wasTold, withinInvocation } from './invocation.ts';
import { isDeadAndUnfenced, measuresOf, metric } from './metrics.ts';
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
    const swept = await withinInvocation(
      wiring,
      limit,
      () => null,
      ({ ports, deadline }) => sweepAll({ policy, deadline, newRunId }, ports),
      isNewsOfSweep(wiring),
    );
    report(swept, wiring);
    return {
      results: swept.outcomes.map(outcomeJson),
      unreachable: swept.unreachable.map(({ cluster, error }) => ({ cluster, reason: error.message })),
    };
  };

/**
 * Reports whether a step is worth logging. In shadow mode every sweep finds the same machines and would take the same
 * steps.
 */
const isNewsOfSweep =
  (wiring: Wiring) =>
  ({ do: what }: Command, { request, machine }: RunState): boolean => {
    const boot = { machine: request.machine, generation: machine?.says.generation ?? null };
    return what !== 'imagine' || !(wasTold('would-fence', boot, wiring) || wasTold('would-release', boot, wiring));
  };

const report = ({ outcomes, unreachable }: Swept, wiring: Wiring): void => {
  const { log, measured } = wiring;
  const line = (outcome: Outcome) => {
    const measures = measuresOf(outcome, null);
    return { ...outcomeLine(outcome, null), ...(measures.length > 0 && measured(measures)) };
  };
  for (const outcome of outcomes) if (isNews(outcome, wiring)) log(line(outcome));
  for (const { cluster, error } of unreachable) tellUnreachable(cluster, error.message, wiring);
  const value = outcomes.filter(isDeadAndUnfenced).length;
  log({
    ...messageLine('swept', 'swept', `the sweep looked at ${counted(outcomes.length, 'machine')}`, null),
    ...measured([{ name: metric.deadNodeUnfenced, value, unit: 'Count' }]),
  });
};
