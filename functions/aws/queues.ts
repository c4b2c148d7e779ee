import type { SQSClient } from '@aws-sdk/client-sqs';
import { InvalidConfiguration } from '../../fencing/errors.ts';
import { LONGEST_REASON, type Queues } from '../queues.ts';

export interface QueueUrls {
  readonly queueUrl: string | null;
  readonly deadLetterQueueUrl: string | null;
}

const named = (url: string | null, variable: string): string => {
  if (url === null) throw new InvalidConfiguration([`the function has no ${variable}: it was not deployed by serverless.yml`]);
  return url;
};

/** The SDK is loaded when something has to be sent: most events need no queue. */
export const sqsQueues = (client: () => Promise<SQSClient>, { queueUrl, deadLetterQueueUrl }: QueueUrls): Queues => ({
  again: async (message, delaySeconds) => {
    const { SendMessageCommand } = await import('@aws-sdk/client-sqs');
    const input = { QueueUrl: named(queueUrl, 'CLOUDFENCE_QUEUE_URL'), MessageBody: JSON.stringify(message), DelaySeconds: delaySeconds };
    await (await client()).send(new SendMessageCommand(input));
  },
  dead: async ({ reason, body }) => {
    const { SendMessageCommand } = await import('@aws-sdk/client-sqs');
    const MessageAttributes = { reason: { DataType: 'String', StringValue: reason.slice(0, LONGEST_REASON) } };
    await (await client()).send(new SendMessageCommand({ QueueUrl: named(deadLetterQueueUrl, 'CLOUDFENCE_DEAD_LETTER_QUEUE_URL'), MessageBody: body, MessageAttributes }));
  },
});
