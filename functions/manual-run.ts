import { InvalidInput } from '../fencing/model/errors.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import { type Outcome, outcomeJson, type OutcomeJson } from '../fencing/model/outcome.ts';
import type { FunctionDependencies } from './dependencies.ts';
import { type NotServed, processItems, type RunOptions, type TimeLimit } from './invocation.ts';
import { describeFault, type Message } from './messages.ts';

/** A person's request to a function: it runs without a queue, and the person gets the outcomes as the answer. */

/**
 * The JSON that the CLI prints: one object for one machine, `results` for several. A function also names the machines
 * that its install does not serve, because the person who asked does not see its log.
 */
export type ManualRunResult = OutcomeJson | ManualRunResults;

interface ManualRunResults {
  readonly results: readonly OutcomeJson[];
  readonly notServed?: readonly { readonly instance: MachineId; readonly reason: string }[];
}

/** Returns what a function answers to a person's request. */
export const manualRunResult = (outcomes: readonly Outcome[], notServed: readonly NotServed[]): ManualRunResult => {
  const [only, second] = outcomes;
  if (only && !second && notServed.length === 0) return outcomeJson(only);
  const others = notServed.map(({ machine, why }) => ({ instance: machine, reason: `foreign: ${why}` }));
  return { results: outcomes.map(outcomeJson), ...(others.length > 0 && { notServed: others }) };
};

interface ManualOptions extends Omit<RunOptions, 'queued'> {
  /** Throws for an outcome that is an error for a person. */
  readonly refuse?: (outcome: Outcome) => void;
}

/**
 * Runs a person's request until it ends or the invocation ends, because there is no queue.
 * @throws InvalidInput, before any action, if the input cannot be read
 */
export const runManually = async (
  messages: readonly Message[],
  { refuse = () => undefined, ...options }: ManualOptions,
  dependencies: FunctionDependencies,
  limit: TimeLimit,
): Promise<ManualRunResult> => {
  const faults = messages.flatMap((message) => message.faults);
  if (faults.length > 0) throw new InvalidInput(faults.map(describeFault).join('; '));
  const items = messages.flatMap((message) => message.items);
  const { outcomes, notServed } = await processItems(
    items,
    { ...options, queued: false },
    dependencies,
    limit,
    async (all, others) => ({ outcomes: all, notServed: others }),
  );
  outcomes.forEach(refuse);
  return manualRunResult(outcomes, notServed);
};

/**
 * Processes a person's input as if it had just arrived, and answers like the CLI. `dryRun` can be anywhere in the
 * input, and applies to the message that contains it.
 *
 * @throws InvalidInput, before any action
 */
export const handleManualReplay = (
  messages: readonly Message[],
  dependencies: FunctionDependencies,
  limit: TimeLimit,
): Promise<ManualRunResult> =>
  runManually(messages, { policy: dependencies.policy, vouched: null }, dependencies, limit);
