import { z } from 'zod';
import type { Hint, Reading } from '../../fencing/hint.ts';
import { readHints } from '../../providers/aws/events/read-hints.ts';

/** https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html: body and messageId are all that is needed of a record. */
const sqsRecord = z.looseObject({ messageId: z.string(), body: z.string() });
const sqsBatch = z.object({ Records: z.array(sqsRecord).min(1) });

/** One delivery: an SQS record, or an event that came without a queue. */
export interface Delivery {
  /** Null when there is no queue to give it back to. */
  readonly messageId: string | null;
  readonly reading: Reading;
}

export const deliveriesIn = (event: unknown): readonly Delivery[] => {
  const batch = sqsBatch.safeParse(event);
  if (!batch.success) return [{ messageId: null, reading: readHints(event) }];
  return batch.data.Records.map((record) => ({ messageId: record.messageId, reading: readHints(record) }));
};

export const hintsOf = (deliveries: readonly Delivery[]): readonly Hint[] => deliveries.flatMap(({ reading }) => reading.hints);
