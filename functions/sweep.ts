import { pluralize } from '../fencing/model/reason.ts';
import type { RunState } from '../fencing/loop/state.ts';
import type { Command } from '../fencing/loop/command.ts';
import { type Outcome, outcomeJson, type OutcomeJson } from '../fencing/model/outcome.ts';
import { type FencedNode, sweep as sweepAll, type SweepOutcome } from '../fencing/sweep/sweep.ts';
import { isFirstLog, messageLine, outcomeLine, wasDryRunLogged } from './decision-log.ts';
import { logUnreachableCluster, type TimeLimit, withinInvocation } from './invocation.ts';
import { keepIncidents, sweepTrigger, tendIncidents } from './incidents.ts';
import { isOffAndUnfenced, isStoppingTooLong, measurementsOf, metricNames, overdueMeasurements } from './metrics.ts';
import type { FunctionDependencies } from './dependencies.ts';

export interface SweepResult {
  readonly results: readonly OutcomeJson[];
  readonly unreachable: readonly { readonly cluster: string; readonly reason: string }[];
}

/** Finds machines that no event named. An alarm watches how many dead machines remain unfenced. */
export const sweep =
  (getDependencies: () => Promise<FunctionDependencies>) =>
  async (_: unknown, limit: TimeLimit): Promise<SweepResult> => {
    const dependencies = await getDependencies();
    const { policy, newRunId } = dependencies;
    const swept = await withinInvocation(
      dependencies,
      limit,
      () => null,
      async ({ ports, deadline, logs }) => {
        const swept = await sweepAll({ policy, deadline, newRunId }, ports);
        reportSweep(swept, dependencies);
        await keepIncidents(swept.outcomes, logs, () => sweepTrigger, dependencies, limit.getRemainingTimeInMillis());
        await tendIncidents(dependencies, limit.getRemainingTimeInMillis());
        return swept;
      },
      isNewsOfSweep(dependencies),
    );
    return {
      results: swept.outcomes.map(outcomeJson),
      unreachable: swept.unreachable.map(({ cluster, error }) => ({ cluster, reason: error.message })),
    };
  };

/**
 * Returns whether a step should be logged. In shadow mode, every sweep finds the same machines and would take the same
 * steps.
 */
const isNewsOfSweep =
  (dependencies: FunctionDependencies) =>
  ({ do: what }: Command, { request, machine }: RunState): boolean => {
    const boot = { machine: request.machine, generation: machine?.value.generation ?? null };
    return (
      what !== 'imagine' ||
      !(wasDryRunLogged('would-fence', boot, dependencies) || wasDryRunLogged('would-release', boot, dependencies))
    );
  };

/** Limits the number of Nodes in a line. */
const MOST_NAMED = 5;

const listNodes = (what: string, nodes: readonly (FencedNode | Outcome)[]): string => {
  if (nodes.length === 0) return '';
  const names = nodes.slice(0, MOST_NAMED).map(({ cluster, node }) => `${cluster ?? '?'}/${node ?? '?'}`);
  const others = nodes.length > MOST_NAMED ? `, and ${nodes.length - MOST_NAMED} more` : '';
  return `; ${what}: ${names.join(', ')}${others}`;
};

const summaryOf = ({ outcomes, overdue }: SweepOutcome): string =>
  `the sweep looked at ${pluralize(outcomes.length, 'machine')}` +
  listNodes('fenced for more than a day', overdue.fenced) +
  listNodes('machine back, and release waiting, for more than ten minutes', overdue.returned) +
  listNodes('machine stopping for more than ten minutes', outcomes.filter(isStoppingTooLong));

const reportSweep = (swept: SweepOutcome, dependencies: FunctionDependencies): void => {
  const { outcomes, unreachable, overdue } = swept;
  const { log, formatMeasurements: measured } = dependencies;
  const line = (outcome: Outcome) => {
    const measures = measurementsOf(outcome, null);
    return { ...outcomeLine(outcome, null), ...(measures.length > 0 && measured(measures)) };
  };
  for (const outcome of outcomes) if (isFirstLog(outcome, dependencies)) log(line(outcome));
  for (const { cluster, error } of unreachable) logUnreachableCluster(cluster, error.message, dependencies);
  const value = outcomes.filter(isOffAndUnfenced).length;
  log({
    ...messageLine('swept', 'swept', summaryOf(swept), null),
    ...measured([
      { name: metricNames.deadNodeUnfenced, value, unit: 'Count' },
      ...overdueMeasurements(overdue, outcomes),
    ]),
  });
};
