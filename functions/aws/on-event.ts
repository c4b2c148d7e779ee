import { z } from 'zod';
import { minLength, nonEmptyText } from '../../fencing/model/foreign-text.ts';
import { readHints } from '../../providers/aws/events/read-hints.ts';
import { processItems, type TimeLimit } from '../invocation.ts';
import { handleManualReplay, type ManualRunResult } from '../manual-run.ts';
import {
  acknowledgeAll,
  sendDeadLetter,
  reasonToGiveUp,
  redeliveryDelay,
  type Unacknowledged,
} from '../acknowledge.ts';
import { queueFailureLine } from '../decision-log.ts';
import { type Message, parseMessage, bodyText, confirmTestEvents } from '../messages.ts';
import type { FunctionDependencies } from '../dependencies.ts';
import { handlerWithDoctor } from './lambda.ts';
import { lazyDependencies } from './dependencies.ts';

/** Lists the messages that the queue must deliver again because something failed. SQS deletes all others. */
interface BatchAnswer {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

/**
 * Processes a batch of SQS messages. Each message is acknowledged with an outcome, sent again with a delay, sent to the
 * dead-letter queue with its reason, or returned for redelivery after a failure. The result of one message never
 * affects another message. An event that a person sends without a queue gets the outcomes as its answer.
 */
export const onEvent =
  (getDependencies: () => Promise<FunctionDependencies>) =>
  async (event: unknown, context: TimeLimit): Promise<BatchAnswer | ManualRunResult> => {
    const dependencies = await getDependencies();
    const messages = messagesIn(event);
    if (messages[0]?.messageId === null) return handleManualReplay(messages, dependencies, context);
    return confirmTestEvents(messages, dependencies, (real) => processBatch(real, dependencies, context));
  };

const processBatch = (
  batch: readonly Received[],
  dependencies: FunctionDependencies,
  context: TimeLimit,
): Promise<BatchAnswer> =>
  processItems(
    batch.flatMap(({ items }) => items),
    { policy: dependencies.policy, queued: true, vouched: null },
    dependencies,
    context,
    async (outcomes) => {
      const again = await acknowledgeAll(batch, outcomes, dependencies);
      const failures = await Promise.all(again.map((failed) => returnToQueue(failed, dependencies)));
      return { batchItemFailures: failures.flat() };
    },
  );

/** Lambda calls this. It passes every event to `onEvent`, except a question of the doctor about its role. */
export const handler = handlerWithDoctor(lazyDependencies(), onEvent);

/** The `maxReceiveCount` of the queue in infra/aws/queues.yml. */
export const MOST_DELIVERIES = 10;

/** A message of the queue, or an event that arrived without one. */
interface Received extends Message {
  /** The receipt of this delivery; null if it is not known. */
  readonly receipt: string | null;
  /** How often the queue has delivered the message, including this time. */
  readonly receives: number;
}

/**
 * Returns a failed message to the queue. Before SQS would make it a dead letter, Cloudfence does so with the reason,
 * because SQS adds none. If that fails, SQS still does it.
 */
const returnToQueue = async (
  { message, why }: Unacknowledged<Received>,
  dependencies: FunctionDependencies,
): Promise<BatchAnswer['batchItemFailures']> => {
  const { messageId: itemIdentifier, receives, body } = message;
  if (itemIdentifier === null) return [];
  if (
    receives >= MOST_DELIVERIES &&
    (await sendDeadLetter({ body, reason: reasonToGiveUp(receives, why) }, dependencies))
  )
    return [];
  await postpone(message, dependencies);
  return [{ itemIdentifier }];
};

/**
 * Makes a failed message visible again after this number of seconds. Otherwise, or if this call fails, the message
 * stays invisible until the queue's visibility timeout ends.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
 */
const postpone = async (
  { receipt, receives }: Received,
  { queues, chance, log }: FunctionDependencies,
): Promise<void> => {
  if (receipt === null || !queues.postpone) return;
  try {
    await queues.postpone(receipt, redeliveryDelay(receives, chance()));
  } catch (error) {
    log(queueFailureLine(error));
  }
};

/**
 * Reads only these fields of a record.
 * https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
 */
const sqsRecord = z.looseObject({
  messageId: z.string(),
  body: z.string(),
  receiptHandle: nonEmptyText.nullable().catch(null),
  attributes: z
    .object({ ApproximateReceiveCount: z.coerce.number().int().min(1) })
    .catch({ ApproximateReceiveCount: 1 }),
});
/** Fields next to `Records` apply to every record. */
const sqsBatch = z.looseObject({ Records: z.array(sqsRecord).check(minLength(1)) });

export const messagesIn = (event: unknown): readonly Received[] => {
  const batch = sqsBatch.safeParse(event);
  if (!batch.success)
    return [{ ...parseMessage(null, bodyText(event), () => readHints(event)), receipt: null, receives: 1 }];
  return batch.data.Records.map((record) => ({
    ...parseMessage(record.messageId, record.body, () => readHints({ ...batch.data, Records: [record] })),
    receipt: record.receiptHandle,
    receives: record.attributes.ApproximateReceiveCount,
  }));
};
