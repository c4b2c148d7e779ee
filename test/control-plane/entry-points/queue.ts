import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { deliver } from './programs.ts';
import type { Batch } from './events.ts';
import type { TestbedAccess } from '../../testbed/installation.ts';

/** An SQS queue in front of the packaged function. What the function sends again comes back to it after its delay. */
export interface Queue {
  /** Adds a batch and delivers everything that is due, until nothing is left and nothing is on its way. */
  readonly drain: (batch: Batch) => Promise<void>;
  readonly close: () => void;
}

let count = 0;

const LONG_POLL_S = 1;

/** Messages that wait, are in progress, or are delayed. */
const COUNTED = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesNotVisible',
  'ApproximateNumberOfMessagesDelayed',
] as const;

export const openQueue = async (testbed: TestbedAccess): Promise<Queue> => {
  const sqs = new SQSClient({
    endpoint: testbed.aws.endpoint,
    region: testbed.ec2.region,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  const { QueueUrl = '' } = await sqs.send(
    new CreateQueueCommand({ QueueName: `cloudfence-${process.pid}-${(count += 1)}` }),
  );
  const left = async (): Promise<number> => {
    const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...COUNTED] }));
    return COUNTED.reduce((sum, name) => sum + Number(Attributes?.[name] ?? 0), 0);
  };
  const pass = async (): Promise<void> => {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: 10,
        WaitTimeSeconds: LONG_POLL_S,
        VisibilityTimeout: 120,
      }),
    );
    if (Messages.length === 0) return;
    const Records = Messages.map(({ MessageId = '', Body = '' }) => ({ messageId: MessageId, body: Body }));
    const { batchItemFailures } = await deliver(testbed, { Records }, QueueUrl);
    if (batchItemFailures.length > 0) throw new Error(`${batchItemFailures.length} messages were given back`);
    for (const { ReceiptHandle } of Messages) await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
  };
  return {
    drain: async ({ Records }) => {
      for (const { body } of Records) await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: body }));
      while ((await left()) > 0) await pass();
    },
    close: () => sqs.destroy(),
  };
};
