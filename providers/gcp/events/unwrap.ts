import { z } from 'zod';
import { batchUnder, type Batch } from '../../events/walk.ts';

export interface Wrapped {
  readonly value: unknown;
  /** The JSON path to what is inside. */
  readonly step: string;
}

/** As JSON forms of protobuf hold bytes: in either alphabet, with padding or without. https://protobuf.dev/programming-guides/json */
const NO_BASE64 = /[^\w+/=-]/;
export const encoded = z.string().refine((text) => !NO_BASE64.test(text), 'is no base64');

/** https://cloud.google.com/pubsub/docs/reference/rest/v1/PubsubMessage */
const message = z.object({ data: encoded }).transform(({ data }): Wrapped => ({ value: data, step: '.data' }));

/** The body of a push request, and each message of a pull. https://cloud.google.com/pubsub/docs/push */
const delivery = z.object({ message: z.object({ data: encoded }) }).transform(({ message: inner }): Wrapped => ({ value: inner.data, step: '.message.data' }));

/** As functions of the first generation are handed it. https://cloud.google.com/functions/docs/writing/write-event-driven-functions */
const background = z.object({ context: z.object({ eventType: z.string() }), data: z.unknown() }).transform(({ data }): Wrapped => ({ value: data, step: '.data' }));
const pulled = z.object({ receivedMessages: z.array(z.unknown()) }).transform(({ receivedMessages }): Wrapped => ({ value: receivedMessages, step: '.receivedMessages' }));

/** Of entries.list, as people keep them in a file. */
const entries = z.object({ entries: z.array(z.unknown()) }).transform((list): Wrapped => ({ value: list.entries, step: '.entries' }));

/** https://github.com/googleapis/google-cloudevents */
const cloudEvent = z.object({ specversion: z.string(), data: z.unknown() }).transform(({ data }): Wrapped => ({ value: data, step: '.data' }));
const encodedCloudEvent = z.object({ specversion: z.string(), data_base64: encoded }).transform((event): Wrapped => ({ value: event.data_base64, step: '.data_base64' }));

const wrappings: readonly z.ZodType<Wrapped>[] = [encodedCloudEvent, cloudEvent, delivery, pulled, entries, background, message];

export const batchIn = (raw: object): Batch | null => batchUnder(raw, 'receivedMessages', ['message']);

/** What is inside a wrapping, or null when it is none. */
export const unwrap = (raw: object): Wrapped | null => {
  for (const wrapping of wrappings) {
    const inside = wrapping.safeParse(raw);
    if (inside.success) return inside.data;
  }
  return null;
};
