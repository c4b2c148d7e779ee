import { z } from 'zod';
import { jsonText } from '../../../fencing/json-text.ts';
import { batchUnder, type Batch } from '../../events/walk.ts';

interface Wrapped {
  readonly value: unknown;
  /** The JSON path to what is inside. */
  readonly step: string;
}

/** An SQS or SNS record carries the event as text; a pipe that transforms its input may have parsed it. */
const sqsRecord = z.object({ body: z.union([z.string(), z.record(z.string(), z.unknown())]) }).transform(({ body }): Wrapped => ({ value: body, step: '.body' }));
const snsRecord = z.object({ Sns: z.object({ Message: z.string() }) }).transform(({ Sns }): Wrapped => ({ value: Sns.Message, step: '.Sns.Message' }));
const snsMessage = z
  .object({ Type: z.literal('Notification'), Message: z.string() })
  .transform(({ Message }): Wrapped => ({ value: Message, step: '.Message' }));

/** A batch of a queue or a topic, or what people keep in a file. */
const batches = (['Records', 'Events', 'Entries'] as const).map((key) =>
  z.object({ [key]: z.array(z.unknown()) }).transform((batch): Wrapped => ({ value: batch[key], step: `.${key}` })),
);

/** An event on its way in: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsRequestEntry.html */
const entry = z
  .object({ DetailType: z.string(), Detail: jsonText, Source: z.string().nullish(), Time: z.string().nullish(), Resources: z.array(z.string()).nullish() })
  .transform(({ DetailType, Detail, Source, Time, Resources }): Wrapped => ({ value: { 'detail-type': DetailType, source: Source, time: Time, resources: Resources ?? [], detail: Detail }, step: '' }));

/** A record of Kinesis, as Lambda is handed it or as a pipe passes it on, and one of Firehose. Their bytes may be zipped. */
const kinesisRecord = z.object({ kinesis: z.object({ data: z.string() }) }).transform(({ kinesis }): Wrapped => ({ value: kinesis.data, step: '.kinesis.data' }));
const streamRecord = z
  .object({ data: z.string() })
  .and(z.union([z.object({ recordId: z.string() }), z.object({ partitionKey: z.string() })]))
  .transform(({ data }): Wrapped => ({ value: data, step: '.data' }));
const firehose = z.object({ deliveryStreamArn: z.string(), records: z.array(z.unknown()) }).transform(({ records }): Wrapped => ({ value: records, step: '.records' }));

/** A subscription of CloudWatch Logs, directly and through a stream: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/SubscriptionFilters.html */
const logsData = z.object({ awslogs: z.object({ data: z.string() }) }).transform(({ awslogs }): Wrapped => ({ value: awslogs.data, step: '.awslogs.data' }));
const logEvents = z.object({ messageType: z.literal('DATA_MESSAGE'), logEvents: z.array(z.unknown()) }).transform((logs): Wrapped => ({ value: logs.logEvents, step: '.logEvents' }));
const logEvent = z.object({ id: z.string(), timestamp: z.number(), message: z.string() }).transform(({ message }): Wrapped => ({ value: message, step: '.message' }));

/** https://github.com/cloudevents/spec/blob/main/cloudevents/formats/json-format.md */
const encodedCloudEvent = z.object({ specversion: z.string(), data_base64: z.string() }).transform((event): Wrapped => ({ value: event.data_base64, step: '.data_base64' }));
const cloudEvent = z.object({ specversion: z.string(), data: z.unknown() }).transform(({ data }): Wrapped => ({ value: data, step: '.data' }));

/** Of the answer of LookupEvents. */
const lookedUp = z.object({ CloudTrailEvent: z.string() }).transform(({ CloudTrailEvent }): Wrapped => ({ value: CloudTrailEvent, step: '.CloudTrailEvent' }));

const wrappings: readonly z.ZodType<Wrapped>[] = [...batches, firehose, sqsRecord, snsRecord, snsMessage, kinesisRecord, streamRecord, logsData, logEvents, logEvent, encodedCloudEvent, cloudEvent, entry, lookedUp];

/** What a queue, a topic or a stream hands over at once. */
export const batchIn = (raw: object): Batch | null => batchUnder(raw, 'Records', ['body', 'Sns', 'kinesis']) ?? batchUnder(raw, 'records', ['recordId']);

/** What is inside a wrapping, or null when it is none. */
export const unwrap = (raw: object): Wrapped | null => {
  for (const wrapping of wrappings) {
    const inside = wrapping.safeParse(raw);
    if (inside.success) return inside.data;
  }
  return null;
};
