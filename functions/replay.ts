import { answerByHand, type ByHandAnswer } from './by-hand.ts';
import type { Delivery } from './errand.ts';
import type { TimeLimit } from './invocation.ts';
import type { Wiring } from './wiring.ts';

/**
 * Takes what a person sent as if it had just arrived, and answers as the CLI does. `dryRun` may stand anywhere in it, and is
 * meant for the message that it stands in.
 *
 * @throws InvalidInput, before anything is done
 */
export const replayByHand = (deliveries: readonly Delivery[], wiring: Wiring, limit: TimeLimit): Promise<ByHandAnswer> =>
  answerByHand(deliveries, { policy: wiring.policy, vouched: null }, wiring, limit);
