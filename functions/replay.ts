import { answerByHand, type ByHandAnswer } from './by-hand.ts';
import { wantsDryRun } from './dry-run.ts';
import type { Delivery } from './errand.ts';
import type { TimeLimit } from './invocation.ts';
import { textOf } from './text-of.ts';
import type { Wiring } from './wiring.ts';

/**
 * Takes what a person sent as if it had just arrived, and answers as the CLI does. `dryRun` may stand in any event, and
 * beside others in a list is meant for all.
 *
 * @throws InvalidInput, before anything is done
 */
export const replayByHand = async (event: unknown, deliveries: readonly Delivery[], wiring: Wiring, limit: TimeLimit): Promise<ByHandAnswer> => {
  const dryRun = wantsDryRun(textOf(event), ...deliveries.map(({ body }) => body)) || wiring.policy.dryRun;
  return answerByHand(deliveries, { policy: { ...wiring.policy, dryRun }, vouched: null }, wiring, limit);
};
