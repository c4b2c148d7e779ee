import { ClusterUnavailable } from '../fencing/model/errors.ts';
import type { RunState } from '../fencing/loop/state.ts';
import { type CommandResult, errorsIn } from '../fencing/loop/reduce.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import type { Command } from '../fencing/loop/command.ts';
import type { Outcome } from '../fencing/model/outcome.ts';
import type { Policy } from '../fencing/model/policy.ts';
import type { Ports } from '../fencing/loop/ports.ts';
import { runAll } from '../fencing/loop/run.ts';
import { longWaits, pluralize } from '../fencing/model/reason.ts';
import { isFirstLog, messageLine, outcomeLine, skippedLines, stepLines } from './decision-log.ts';
import { createRunLogs, keepIncidents, triggerOf, type RunLogs } from './incidents.ts';
import { type WorkItem, isDryRun, onePerMachine } from './messages.ts';
import { logDecision, measurementsOf, unreachableMeasurements } from './metrics.ts';
import type { FunctionDependencies } from './dependencies.ts';

/** One call of a function: what it serves, its runs within the platform's time limit, and their log. */

/**
 * Reports how long the platform lets the invocation continue. Lambda's context has this method.
 * https://docs.aws.amazon.com/lambda/latest/dg/nodejs-context.html
 */
export interface TimeLimit {
  readonly getRemainingTimeInMillis: () => number;
}

/** Time reserved at the end of an invocation for a proper answer (ms). */
const MARGIN_MS = 3_000;

/** Clusters that did not answer, with the reason. A cluster that answers a later request is removed. */
type Unreachable = ReadonlyMap<string, string>;

const noteUnreachable = (unreachable: Map<string, string>, answer: CommandResult, { location }: RunState): void => {
  if (answer.to === 'locate') {
    for (const { cluster, error } of answer.found) if (error) unreachable.set(cluster, error.message);
  }
  if (!location) return;
  for (const error of errorsIn(answer))
    if (error instanceof ClusterUnavailable) unreachable.set(location.cluster, error.message);
  if (answer.to === 'look' && answer.cluster) unreachable.delete(location.cluster);
};

/** Logs a line only once per invocation, even if several runs report the same. */
const onceEach = (log: (line: object) => void): ((line: object) => void) => {
  const logged = new Set<string>();
  return (line) => {
    const text = JSON.stringify(line);
    if (!logged.has(text)) log(line);
    logged.add(text);
  };
};

interface Invocation {
  readonly ports: Ports;
  /** Time of the monotonic clock (ms) at which runs end, well before the platform ends the process. */
  readonly deadline: number;
  /** The unreachable clusters known so far. */
  readonly unreachable: Unreachable;
  readonly logs: RunLogs;
}

/**
 * Runs `work` within one invocation. It logs each step. It also aborts all pending calls before the handler returns,
 * because a frozen process must not complete a call when it resumes.
 */
export const withinInvocation = async <T>(
  { ports, log }: FunctionDependencies,
  limit: TimeLimit,
  eventOf: (state: RunState) => string | null,
  work: (invocation: Invocation) => Promise<T>,
  isNews: (command: Command, state: RunState) => boolean = () => true,
): Promise<T> => {
  const inFlight = new AbortController();
  const unreachable = new Map<string, string>();
  const logs = createRunLogs(log);
  const logSkipped = onceEach(log);
  const observe = (command: Command, answer: CommandResult, state: RunState) => {
    noteUnreachable(unreachable, answer, state);
    logs.observe(command, answer, state);
    skippedLines(answer, state, eventOf(state)).forEach(logSkipped);
    if (isNews(command, state)) stepLines(answer, state, eventOf(state)).forEach(log);
  };
  try {
    const deadline = ports.clock.now().mono + limit.getRemainingTimeInMillis() - MARGIN_MS;
    return await work({ ports: { ...ports, signal: inFlight.signal, observe }, deadline, unreachable, logs });
  } finally {
    inFlight.abort();
  }
};

/** Limits how many unserved items are logged individually. */
const MAX_LOGGED = 20;

/** A machine of another account, region, subscription, or project. */
export interface NotServed {
  readonly machine: MachineId;
  readonly why: string;
}

/** The items of an invocation, by whether this install serves their machine. */
interface ServedItems {
  readonly served: readonly WorkItem[];
  readonly notServed: readonly NotServed[];
}

/** Asks once for each item whether this install serves its machine. */
const partitionByServed = (
  items: readonly WorkItem[],
  { whyNotServed }: Pick<FunctionDependencies, 'whyNotServed'>,
): ServedItems => {
  const answers = items.map((item) => ({ item, why: whyNotServed(item) }));
  return {
    served: answers.flatMap(({ item, why }) => (why === null ? [item] : [])),
    notServed: answers.flatMap(({ item: { machine }, why }) => (why === null ? [] : [{ machine, why }])),
  };
};

/** Logs the machines that this install does not serve. */
const logNotServed = (others: readonly NotServed[], { log }: Pick<FunctionDependencies, 'log'>): void => {
  for (const { machine, why } of others.slice(0, MAX_LOGGED))
    log(messageLine(logDecision.foreign, 'foreign', why, machine));
  const left = others.length - MAX_LOGGED;
  if (left > 0)
    log(
      messageLine(
        logDecision.foreign,
        'foreign',
        `this install does not serve ${pluralize(left, 'more machine')}`,
        null,
      ),
    );
};

export interface RunOptions {
  readonly policy: Policy;
  /**
   * Whether the queue handles long waits, which costs less than a sleeping process. Without a queue, the run itself
   * waits.
   */
  readonly queued: boolean;
  readonly vouched: string | null;
}

/**
 * Looks at each machine once, even if several messages name it, and logs the outcome. If one message requests a dry run
 * and others do not, the machine gets one look of each kind. `answer` finishes the messages. What the runs show is
 * stored afterwards.
 */
export const processItems = async <T>(
  items: readonly WorkItem[],
  options: RunOptions,
  dependencies: FunctionDependencies,
  limit: TimeLimit,
  answer: (outcomes: readonly Outcome[], notServed: readonly NotServed[]) => Promise<T>,
): Promise<T> => {
  const { served, notServed } = partitionByServed(items, dependencies);
  logNotServed(notServed, dependencies);
  const leading = [...onePerMachine(served, options.policy)];
  const itemFor = (machine: MachineId, dryRun: boolean): WorkItem | null =>
    leading.find((item) => item.machine === machine && isDryRun(item, options.policy) === dryRun) ?? null;
  const eventOf = ({ request, policy }: Pick<RunState, 'request' | 'policy'>) =>
    itemFor(request.machine, policy.dryRun)?.event ?? null;
  return withinInvocation(dependencies, limit, eventOf, async (invocation) => {
    const outcomes = await lookAtAll(leading, options, dependencies, invocation);
    for (const [cluster, why] of invocation.unreachable) logUnreachableCluster(cluster, why, dependencies);
    for (const outcome of outcomes) logOutcome(outcome, itemFor(outcome.machine, outcome.dryRun), dependencies);
    try {
      return await answer(outcomes, notServed);
    } finally {
      await keepIncidents(
        outcomes,
        invocation.logs,
        ({ machine, dryRun }) => triggerOf(itemFor(machine, dryRun), options.queued),
        dependencies,
        limit.getRemainingTimeInMillis(),
      );
    }
  });
};

/** Dry runs and other runs are concurrent. */
const lookAtAll = async (
  items: readonly WorkItem[],
  options: RunOptions,
  dependencies: FunctionDependencies,
  invocation: Invocation,
): Promise<readonly Outcome[]> => {
  const [real, dry] = await Promise.all(
    [false, true].map((dryRun) =>
      lookAt(
        items.filter((item) => isDryRun(item, options.policy) === dryRun),
        { ...options, policy: { ...options.policy, dryRun } },
        dependencies,
        invocation,
      ),
    ),
  );
  return [...(real ?? []), ...(dry ?? [])];
};

const lookAt = (
  items: readonly WorkItem[],
  { policy, vouched, queued }: RunOptions,
  { newRunId }: FunctionDependencies,
  { ports, deadline }: Invocation,
): Promise<readonly Outcome[]> => {
  return runAll(
    items.map(({ machine }) => machine),
    { policy, deadline, newRunId, vouched, ...(queued && { handsOver: longWaits }) },
    ports,
  );
};

const logOutcome = (outcome: Outcome, item: WorkItem | null, dependencies: FunctionDependencies): void => {
  const measures = isFirstLog(outcome, dependencies) ? measurementsOf(outcome, item?.eventAt ?? null) : [];
  dependencies.log({
    ...outcomeLine(outcome, item?.event ?? null),
    ...(measures.length > 0 && dependencies.formatMeasurements(measures)),
  });
};

/** Logs that a cluster did not answer, and counts it, because its state is unknown. */
export const logUnreachableCluster = (
  cluster: string,
  why: string,
  { log, formatMeasurements }: FunctionDependencies,
): void =>
  log({
    ...messageLine('failed', 'cluster-unreachable', why, null),
    cluster,
    ...formatMeasurements(unreachableMeasurements),
  });
