import { InvalidInput } from '../fencing/errors.ts';
import { outcomeJson, type OutcomeJson } from '../fencing/outcome-json.ts';
import { inWords, type Delivery } from './errand.ts';
import { runErrands, type Wish } from './errands.ts';
import type { TimeLimit } from './invocation.ts';
import type { Wiring } from './wiring.ts';

/** The same JSON as the CLI: one object for one machine, `results` for several. */
export type ByHandAnswer = OutcomeJson | { readonly results: readonly OutcomeJson[] };

/**
 * Runs what a person sent, to its end or to the end of the invocation: there is no queue to wait in.
 * @throws InvalidInput, before anything is done, for what cannot be read
 */
export const answerByHand = async (deliveries: readonly Delivery[], wish: Omit<Wish, 'queued'>, wiring: Wiring, limit: TimeLimit): Promise<ByHandAnswer> => {
  const faults = deliveries.flatMap((delivery) => delivery.faults);
  if (faults.length > 0) throw new InvalidInput(faults.map(inWords).join('; '));
  const errands = deliveries.flatMap((delivery) => delivery.errands);
  const outcomes = await runErrands(errands, { ...wish, queued: false }, wiring, limit);
  const [only, second] = outcomes;
  return only && !second ? outcomeJson(only) : { results: outcomes.map(outcomeJson) };
};
