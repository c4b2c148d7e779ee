import { z } from 'zod';
import { jsonText } from '../../../fencing/json-text.ts';

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

/** Of the answer of LookupEvents. */
const lookedUp = z.object({ CloudTrailEvent: z.string() }).transform(({ CloudTrailEvent }): Wrapped => ({ value: CloudTrailEvent, step: '.CloudTrailEvent' }));

const wrappings: readonly z.ZodType<Wrapped>[] = [...batches, sqsRecord, snsRecord, snsMessage, entry, lookedUp];

/** What is inside a wrapping, or null when it is none. */
export const unwrap = (raw: object): Wrapped | null => {
  for (const wrapping of wrappings) {
    const inside = wrapping.safeParse(raw);
    if (inside.success) return inside.data;
  }
  return null;
};
