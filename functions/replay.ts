import { z } from 'zod';
import { answerByHand, type ByHandAnswer } from './by-hand.ts';
import type { Delivery } from './errand.ts';
import type { TimeLimit } from './invocation.ts';
import type { Wiring } from './wiring.ts';

/** What a person may add to any event that is sent by hand. */
const addition = z.looseObject({ dryRun: z.boolean().default(false) });

/** Takes what a person sent as if it had just arrived, and answers as the CLI does. */
export const replayByHand = async (event: unknown, deliveries: readonly Delivery[], wiring: Wiring, limit: TimeLimit): Promise<ByHandAnswer> => {
  const dryRun = wiring.policy.dryRun || (addition.safeParse(event).data?.dryRun ?? false);
  return answerByHand(deliveries, { policy: { ...wiring.policy, dryRun }, vouched: null }, wiring, limit);
};
