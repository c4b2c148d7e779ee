import type { ByHandAnswer } from '../by-hand.ts';
import { leadingErrands } from '../errand.ts';
import { runErrands } from '../errands.ts';
import type { TimeLimit } from '../invocation.ts';
import { replayByHand } from '../replay.ts';
import { settle } from '../settle.ts';
import type { Wiring } from '../wiring.ts';
import { deliveriesIn } from './batch.ts';
import { fencing } from './lambda.ts';
import { wireOnce } from './wire.ts';

/** The messages that the queue is to deliver again, because something failed; all others are acknowledged. */
export interface BatchAnswer {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

/**
 * Takes a batch of SQS messages. Each is acknowledged with a stated end, sent again with a delay, sent to the dead-letter
 * queue with its reason, or, when something failed, given back for redelivery. One message never decides over another.
 * An event that came without a queue is answered as if a person had sent it.
 */
export const onEvent =
  (wired: () => Promise<Wiring>) =>
  async (event: unknown, context: TimeLimit): Promise<BatchAnswer | ByHandAnswer> => {
    const wiring = await wired();
    const deliveries = deliveriesIn(event);
    if (deliveries[0]?.messageId === null) return replayByHand(deliveries, wiring, context);
    const errands = deliveries.flatMap((delivery) => delivery.errands);
    const outcomes = await runErrands(errands, { policy: wiring.policy, queued: true, vouched: null }, wiring, context);
    const leading = leadingErrands(errands, wiring.policy);
    const failures: string[] = [];
    for (const delivery of deliveries) {
      if (!(await settle(delivery, outcomes, leading, wiring)) && delivery.messageId !== null) failures.push(delivery.messageId);
    }
    return { batchItemFailures: failures.map((itemIdentifier) => ({ itemIdentifier })) };
  };

export const handler = fencing(wireOnce(), onEvent);
