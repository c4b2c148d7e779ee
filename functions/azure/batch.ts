import { z } from 'zod';
import { readHints } from '../../providers/azure/events/read-hints.ts';
import { jsonIn } from '../../fencing/json-text.ts';
import { deliveryOf, type Delivery } from '../errand.ts';
import { textOf } from '../text-of.ts';

/** A message that failed, in an envelope that counts: Service Bus would bring it back at once, ten times in a second. */
const retry = z.strictObject({ cloudfence: z.literal('retry'), failures: z.int().min(1), body: z.string() }).readonly();

export type Retry = z.infer<typeof retry>;

export interface Received {
  readonly delivery: Delivery;
  /** How often it has failed before. */
  readonly failures: number;
}

const receivedAt = (text: string, at: number): Received => {
  const again = retry.safeParse(jsonIn(text));
  const { body, failures } = again.success ? again.data : { body: text, failures: 0 };
  return { delivery: deliveryOf(`${at}`, body, () => readHints(body)), failures };
};

/** Messages of a queue, one or a batch of them; the platform parses JSON by itself when a message says that it is some. */
export const receivedIn = (messages: unknown): readonly Received[] => (Array.isArray(messages) ? messages : [messages]).map((message, at) => receivedAt(textOf(message), at));

/** What a person sends. */
export const sentByHand = (sent: unknown): Delivery => {
  const text = textOf(sent);
  return deliveryOf(null, text, () => readHints(text));
};
