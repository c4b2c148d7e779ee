import { z } from 'zod';
import { readHints } from '../../providers/aws/events/read-hints.ts';
import { type ManualRunResult, handleManualReplay, processItems, type TimeLimit } from '../invocation.ts';
import { acknowledgeAll } from '../acknowledge.ts';
import { type Message, parseMessage, bodyText } from '../messages.ts';
import type { FunctionDependencies } from '../dependencies.ts';
import { fencingHandler } from './lambda.ts';
import { lazyDependencies } from './dependencies.ts';

/** Lists the messages that the queue delivers again because something failed. SQS deletes all others. */
interface BatchAnswer {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

/**
 * Processes a batch of SQS messages. Each message is acknowledged with a stated outcome, sent again with a delay, sent
 * to the dead-letter queue with its reason, or, after a failure, returned for redelivery. The result of one message
 * never affects another message. An event that arrives without a queue gets the answer that a person would get.
 */
export const onEvent =
  (getDependencies: () => Promise<FunctionDependencies>) =>
  async (event: unknown, context: TimeLimit): Promise<BatchAnswer | ManualRunResult> => {
    const dependencies = await getDependencies();
    const messages = messagesIn(event);
    if (messages[0]?.messageId === null) return handleManualReplay(messages, dependencies, context);
    const items = messages.flatMap((message) => message.items);
    const outcomes = await processItems(
      items,
      { policy: dependencies.policy, queued: true, vouched: null },
      dependencies,
      context,
    );
    const again = await acknowledgeAll(messages, outcomes, dependencies);
    return {
      batchItemFailures: again.flatMap(({ message }) =>
        message.messageId === null ? [] : [{ itemIdentifier: message.messageId }],
      ),
    };
  };

export const handler = fencingHandler(lazyDependencies(), onEvent);

/**
 * Reads only the body and the messageId of a record.
 * https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
 */
const sqsRecord = z.looseObject({ messageId: z.string(), body: z.string() });
/** Fields next to `Records` apply to every record. */
const sqsBatch = z.looseObject({ Records: z.array(sqsRecord).min(1) });

export const messagesIn = (event: unknown): readonly Message[] => {
  const batch = sqsBatch.safeParse(event);
  if (!batch.success) return [parseMessage(null, bodyText(event), () => readHints(event))];
  return batch.data.Records.map((record) =>
    parseMessage(record.messageId, record.body, () => readHints({ ...batch.data, Records: [record] })),
  );
};
