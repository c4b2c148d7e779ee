import type { SQSClient } from '@aws-sdk/client-sqs';
import { InvalidConfiguration } from '../../fencing/errors.ts';
import type { LookAgain } from './look-again.ts';

/** Why a message is dead, beside the message itself: nobody has to search the logs for it. */
export interface DeadLetter {
  readonly reason: string;
  readonly body: string;
}

export interface Queues {
  readonly again: (message: LookAgain, delaySeconds: number) => Promise<void>;
  readonly dead: (letter: DeadLetter) => Promise<void>;
}

export interface QueueUrls {
  readonly queueUrl: string | null;
  readonly deadLetterQueueUrl: string | null;
}

/** SQS refuses an attribute longer than this together with its message; the reason's beginning is enough. */
const LONGEST_REASON = 1_000;

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
