import { z } from 'zod';
import { readHints } from '../../providers/aws/events/read-hints.ts';
import { deliveryOf, type Delivery } from '../errand.ts';
import { textOf } from '../text-of.ts';

/** https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html: body and messageId are all that is needed of a record. */
const sqsRecord = z.looseObject({ messageId: z.string(), body: z.string() });
/** What stands beside the records is meant for all of them. */
const sqsBatch = z.looseObject({ Records: z.array(sqsRecord).min(1) });

export const deliveriesIn = (event: unknown): readonly Delivery[] => {
  const batch = sqsBatch.safeParse(event);
  if (!batch.success) return [deliveryOf(null, textOf(event), () => readHints(event))];
  return batch.data.Records.map((record) => deliveryOf(record.messageId, record.body, () => readHints({ ...batch.data, Records: [record] })));
};
