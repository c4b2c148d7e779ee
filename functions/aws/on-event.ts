import { z } from 'zod';
import { readHints } from '../../providers/aws/events/read-hints.ts';
import { type ByHandAnswer, replayByHand, processItems, type TimeLimit } from '../invocation.ts';
import { acknowledgeAll, type Message, parseMessage, textOf } from '../messages.ts';
import type { Wiring } from '../wiring.ts';
import { fencing } from './lambda.ts';
import { wireOnce } from './wire.ts';

/** The messages that the queue is to deliver again, because something failed; all others are acknowledged. */
interface BatchAnswer {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

/**
 * Takes a batch of SQS messages. Each is acknowledged with a stated end, sent again with a delay, sent to the
 * dead-letter queue with its reason, or, when something failed, given back for redelivery. One message never decides
 * over another. An event that came without a queue is answered as if a person had sent it.
 */
export const onEvent =
  (wired: () => Promise<Wiring>) =>
  async (event: unknown, context: TimeLimit): Promise<BatchAnswer | ByHandAnswer> => {
    const wiring = await wired();
    const messages = messagesIn(event);
    if (messages[0]?.messageId === null) return replayByHand(messages, wiring, context);
    const items = messages.flatMap((message) => message.items);
    const outcomes = await processItems(items, { policy: wiring.policy, queued: true, vouched: null }, wiring, context);
    const again = await acknowledgeAll(messages, outcomes, wiring);
    return {
      batchItemFailures: again.flatMap(({ message }) =>
        message.messageId === null ? [] : [{ itemIdentifier: message.messageId }],
      ),
    };
  };

export const handler = fencing(wireOnce(), onEvent);

/**
 * https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html: body and messageId are all that is needed of a record.
 */
const sqsRecord = z.looseObject({ messageId: z.string(), body: z.string() });
/** What stands beside the records is meant for all of them. */
const sqsBatch = z.looseObject({ Records: z.array(sqsRecord).min(1) });

export const messagesIn = (event: unknown): readonly Message[] => {
  const batch = sqsBatch.safeParse(event);
  if (!batch.success) return [parseMessage(null, textOf(event), () => readHints(event))];
  return batch.data.Records.map((record) =>
    parseMessage(record.messageId, record.body, () => readHints({ ...batch.data, Records: [record] })),
  );
};
