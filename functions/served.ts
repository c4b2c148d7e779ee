import type { MachineId } from '../fencing/model/machine.ts';
import { type Outcome, outcomeJson, type OutcomeJson } from '../fencing/model/outcome.ts';
import { pluralize } from '../fencing/model/reason.ts';
import { messageLine } from './decision-log.ts';
import type { FunctionDependencies } from './dependencies.ts';
import type { WorkItem } from './messages.ts';
import { logDecision } from './metrics.ts';

/** Which machines this install serves, and what a person learns about the others. */

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
export const partitionByServed = (
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
export const logNotServed = (others: readonly NotServed[], { log }: Pick<FunctionDependencies, 'log'>): void => {
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
