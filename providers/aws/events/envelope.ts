import { z } from 'zod';
import { jsonTextSchema } from '../../../fencing/model/json-text.ts';
import { type MessageBatch, messageBatchAt } from '../../events/reading.ts';

/** What can be wrapped around an event: records of queues, topics, streams, and logs, and lists in a person's file. */

interface Wrapped {
  readonly value: unknown;
  /** The JSON path to the unwrapped value. */
  readonly step: string;
}

/** An SQS or SNS record contains the event as text. A pipe that transforms its input may already have parsed it. */
const sqsRecord = z
  .object({ body: z.union([z.string(), z.record(z.string(), z.unknown())]) })
  .transform(({ body }): Wrapped => ({ value: body, step: '.body' }));
/**
 * A message as `aws sqs receive-message` prints it. The name of its body field differs from that of a record.
 * https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_Message.html
 */
const receivedMessage = z
  .object({ Body: z.string(), ReceiptHandle: z.string() })
  .transform(({ Body }): Wrapped => ({ value: Body, step: '.Body' }));
const snsRecord = z
  .object({ Sns: z.object({ Message: z.string() }) })
  .transform(({ Sns }): Wrapped => ({ value: Sns.Message, step: '.Sns.Message' }));
const snsMessage = z
  .object({ Type: z.literal('Notification'), Message: z.string() })
  .transform(({ Message }): Wrapped => ({ value: Message, step: '.Message' }));

/** A batch from a queue or a topic, or a list in a person's file. */
const batches = (['Records', 'Messages', 'Events', 'Entries'] as const).map((key) =>
  z.object({ [key]: z.array(z.unknown()) }).transform((batch): Wrapped => ({ value: batch[key], step: `.${key}` })),
);

/**
 * An event in the form in which a sender puts it on EventBridge:
 * https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsRequestEntry.html
 */
const entry = z
  .object({
    DetailType: z.string(),
    Detail: jsonTextSchema,
    Source: z.string().nullish(),
    Time: z.string().nullish(),
    Resources: z.array(z.string()).nullish(),
  })
  .transform(({ DetailType, Detail, Source, Time, Resources }): Wrapped => ({
    value: { 'detail-type': DetailType, source: Source, time: Time, resources: Resources ?? [], detail: Detail },
    step: '',
  }));

/** A Kinesis record, as Lambda receives it or as a pipe forwards it, and a Firehose record. The data may be gzipped. */
const kinesisRecord = z
  .object({ kinesis: z.object({ data: z.string() }) })
  .transform(({ kinesis }): Wrapped => ({ value: kinesis.data, step: '.kinesis.data' }));
const streamRecord = z
  .object({ data: z.string() })
  .and(z.union([z.object({ recordId: z.string() }), z.object({ partitionKey: z.string() })]))
  .transform(({ data }): Wrapped => ({ value: data, step: '.data' }));
const firehose = z
  .object({ deliveryStreamArn: z.string(), records: z.array(z.unknown()) })
  .transform(({ records }): Wrapped => ({ value: records, step: '.records' }));

/**
 * A CloudWatch Logs subscription, received directly or through a stream:
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/SubscriptionFilters.html
 */
const logsData = z
  .object({ awslogs: z.object({ data: z.string() }) })
  .transform(({ awslogs }): Wrapped => ({ value: awslogs.data, step: '.awslogs.data' }));
const logEvents = z
  .object({ messageType: z.literal('DATA_MESSAGE'), logEvents: z.array(z.unknown()) })
  .transform((logs): Wrapped => ({ value: logs.logEvents, step: '.logEvents' }));
const logEvent = z
  .object({ id: z.string(), timestamp: z.number(), message: z.string() })
  .transform(({ message }): Wrapped => ({ value: message, step: '.message' }));

/** https://github.com/cloudevents/spec/blob/main/cloudevents/formats/json-format.md */
const encodedCloudEvent = z
  .object({ specversion: z.string(), data_base64: z.string() })
  .transform((event): Wrapped => ({ value: event.data_base64, step: '.data_base64' }));
const cloudEvent = z
  .object({ specversion: z.string(), data: z.unknown() })
  .transform(({ data }): Wrapped => ({ value: data, step: '.data' }));

/** An event from the answer of LookupEvents. */
const lookedUp = z
  .object({ CloudTrailEvent: z.string() })
  .transform(({ CloudTrailEvent }): Wrapped => ({ value: CloudTrailEvent, step: '.CloudTrailEvent' }));

const wrappings: readonly z.ZodType<Wrapped>[] = [
  ...batches,
  firehose,
  sqsRecord,
  receivedMessage,
  snsRecord,
  snsMessage,
  kinesisRecord,
  streamRecord,
  logsData,
  logEvents,
  logEvent,
  encodedCloudEvent,
  cloudEvent,
  entry,
  lookedUp,
];

/** Returns the messages of one delivery from a queue, a topic, or a stream. */
export const batchIn = (raw: object): MessageBatch | null =>
  messageBatchAt(raw, 'Records', ['body', 'Sns', 'kinesis']) ??
  messageBatchAt(raw, 'Messages', ['Body']) ??
  messageBatchAt(raw, 'records', ['recordId']);

/** Returns the unwrapped value, or null if the object is not an envelope. */
export const unwrap = (raw: object): Wrapped | null => {
  for (const wrapping of wrappings) {
    const inside = wrapping.safeParse(raw);
    if (inside.success) return inside.data;
  }
  return null;
};
