import { z } from 'zod';
import type { ParsedEvent } from '../../../fencing/model/cloud.ts';
import { jsonTextSchema } from '../../../fencing/model/json-text.ts';
import {
  fault,
  unreadable,
  createEventReader,
  type EventDialect,
  ignoredEvent,
  type MessageBatch,
  messageBatchAt,
  parsedHints,
} from '../../events/reading.ts';
import { readDetail, readEnvelope, readTrailRecord } from './envelope.ts';
import { instanceId, parseTime, TEST_NOTIFICATION } from './kinds.ts';

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
const batchIn = (raw: object): MessageBatch | null =>
  messageBatchAt(raw, 'Records', ['body', 'Sns', 'kinesis']) ??
  messageBatchAt(raw, 'Messages', ['Body']) ??
  messageBatchAt(raw, 'records', ['recordId']);

/** Returns the unwrapped value, or null if the object is not an envelope. */
const unwrap = (raw: object): Wrapped | null => {
  for (const wrapping of wrappings) {
    const inside = wrapping.safeParse(raw);
    if (inside.success) return inside.data;
  }
  return null;
};

/**
 * A notification that Auto Scaling sends directly to a queue or a topic, without EventBridge.
 * https://docs.aws.amazon.com/autoscaling/ec2/userguide/prepare-for-lifecycle-notifications.html
 */
const notification = z.union([
  z.object({ LifecycleTransition: z.string() }).transform(({ LifecycleTransition }) => LifecycleTransition),
  z.object({ Event: z.string().startsWith('autoscaling:') }).transform(({ Event }) => Event),
]);

const named = z.object({
  EC2InstanceId: z.union([z.literal(''), instanceId]).nullish(),
  AccountId: z.string().nullish(),
  RequestId: z.string().nullish(),
  Time: z.string().nullish(),
});

const wordFor = (transition: string): string =>
  transition
    .replace(/^autoscaling:/, '')
    .replaceAll('_', '-')
    .toLowerCase();

/** Reads such a notification. Returns null for anything else. */
const readNotification = (raw: object, where: string): ParsedEvent | null => {
  const transition = notification.safeParse(raw);
  if (!transition.success) return null;
  if (transition.data === TEST_NOTIFICATION) return ignoredEvent('a test notification of Auto Scaling', where);
  const about = named.safeParse(raw);
  if (!about.success) return unreadable(about.error, where, 'check the notification against its published shape');
  const { EC2InstanceId, AccountId = null, RequestId = null, Time } = about.data;
  if (!EC2InstanceId)
    return ignoredEvent(`a notification of Auto Scaling (${transition.data}) that names no instance`, where);
  return parsedHints([
    {
      machine: EC2InstanceId,
      because: `auto-scaling-${wordFor(transition.data)}`,
      eventId: RequestId,
      time: parseTime(Time),
      account: AccountId,
      region: null,
      replay: null,
    },
  ]);
};

const manualRequest = z.object({
  instanceId,
  account: z.string().nullish(),
  region: z.string().nullish(),
});

const readByHand = (raw: object, where: string): ParsedEvent => {
  const asked = manualRequest.safeParse(raw);
  if (!asked.success) return unreadable(asked.error, where, 'name one instance: { "instanceId": "i-…" }');
  const { instanceId, account = null, region = null } = asked.data;
  return parsedHints([
    { machine: instanceId, because: 'by-hand', eventId: null, time: null, account, region, replay: null },
  ]);
};

const readObject: EventDialect['readObject'] = (raw, where, onward) => {
  if ('detail-type' in raw) return readEnvelope(raw, where);
  if ('instanceId' in raw && !('state' in raw)) return readByHand(raw, where);
  const inside = unwrap(raw);
  if (inside) return onward(inside.value, inside.step);
  if ('messageType' in raw && raw.messageType === 'CONTROL_MESSAGE')
    return ignoredEvent('a control message of CloudWatch Logs', where);
  const told = readNotification(raw, where) ?? readTrailRecord(raw, where) ?? readDetail(raw, where);
  return (
    told ??
    fault(
      'this is not an event that Cloudfence supports',
      where,
      'send an EventBridge event, an SQS or SNS record around one, or { "instanceId": "i-…" }',
    )
  );
};

/**
 * Reads any message about instances: an EventBridge event or many of them; SQS records and SNS notifications around
 * them; archive replays; CloudTrail records; only the detail, as a rule may send it; log subscriptions; Kinesis;
 * Firehose; JSON text (one document, or one per line); and `{ "instanceId": "i-…" }` that a person writes. Never
 * throws, and never drops anything silently.
 */
export const readHints = createEventReader({
  readObject,
  batchIn,
  asDelivered: 'send the event as EventBridge delivers it',
});
