import { z } from 'zod';
import { readHints } from '../../providers/gcp/events/read-hints.ts';
import { encoded } from '../../providers/gcp/events/unwrap.ts';
import { deliveryOf, type Delivery } from '../errand.ts';
import { textOf } from '../text-of.ts';
import { NOT_BEFORE } from './queues.ts';

/** https://cloud.google.com/pubsub/docs/push#receive_push; CloudEvents of a topic have the same inside. */
const push = z.object({
  message: z.object({
    data: encoded.default(''),
    messageId: z.string().default(''),
    attributes: z.looseObject({ [NOT_BEFORE]: z.string().optional() }).default({}),
  }),
});

export interface Pushed {
  readonly delivery: Delivery;
  /** Epoch ms before which a message that waits need not be looked at. */
  readonly notBefore: number | null;
}

const momentIn = (text: string | undefined): number | null => (text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null);

/** A subscription that takes the wrapping off sends the data alone, of a type that the platform may not parse. */
export const deliveryIn = (body: unknown): Pushed => {
  const read = push.safeParse(body);
  if (!read.success) return { delivery: deliveryOf(null, textOf(body), () => readHints(body)), notBefore: null };
  const { data, messageId, attributes } = read.data.message;
  const text = Buffer.from(data, 'base64').toString('utf8');
  return { delivery: deliveryOf(messageId, text, () => readHints(body)), notBefore: momentIn(attributes[NOT_BEFORE]) };
};
