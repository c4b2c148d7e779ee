import { z } from 'zod';
import type { ParsedEvent } from '../../../fencing/model/hint.ts';
import { aside, hinted } from '../../events/reading.ts';
import { type Batch, batchUnder, type Dialect, readerOf } from '../../events/walk.ts';
import { instancePath, machineOf } from '../identity.ts';
import { fault, placeIn, readLogEntry, unreadable } from './log-entry.ts';

interface Wrapped {
  readonly value: unknown;
  /** The JSON path to what is inside. */
  readonly step: string;
}

/**
 * As JSON forms of protobuf hold bytes: in either alphabet, with padding or without.
 * https://protobuf.dev/programming-guides/json
 */
const NO_BASE64 = /[^\w+/=-]/;
export const encoded = z.string().refine((text) => !NO_BASE64.test(text), 'is no base64');

/** https://cloud.google.com/pubsub/docs/reference/rest/v1/PubsubMessage */
const message = z.object({ data: encoded }).transform(({ data }): Wrapped => ({ value: data, step: '.data' }));

/** The body of a push request, and each message of a pull. https://cloud.google.com/pubsub/docs/push */
const delivery = z
  .object({ message: z.object({ data: encoded }) })
  .transform(({ message: inner }): Wrapped => ({ value: inner.data, step: '.message.data' }));

/**
 * As functions of the first generation are handed it.
 * https://cloud.google.com/functions/docs/writing/write-event-driven-functions
 */
const background = z
  .object({ context: z.object({ eventType: z.string() }), data: z.unknown() })
  .transform(({ data }): Wrapped => ({ value: data, step: '.data' }));
const pulled = z
  .object({ receivedMessages: z.array(z.unknown()) })
  .transform(({ receivedMessages }): Wrapped => ({ value: receivedMessages, step: '.receivedMessages' }));

/** Of entries.list, as people keep them in a file. */
const entries = z
  .object({ entries: z.array(z.unknown()) })
  .transform((list): Wrapped => ({ value: list.entries, step: '.entries' }));

/** https://github.com/googleapis/google-cloudevents */
const cloudEvent = z
  .object({ specversion: z.string(), data: z.unknown() })
  .transform(({ data }): Wrapped => ({ value: data, step: '.data' }));
const encodedCloudEvent = z
  .object({ specversion: z.string(), data_base64: encoded })
  .transform((event): Wrapped => ({ value: event.data_base64, step: '.data_base64' }));

const wrappings: readonly z.ZodType<Wrapped>[] = [
  encodedCloudEvent,
  cloudEvent,
  delivery,
  pulled,
  entries,
  background,
  message,
];

const batchIn = (raw: object): Batch | null => batchUnder(raw, 'receivedMessages', ['message']);

/** What is inside a wrapping, or null when it is none. */
const unwrap = (raw: object): Wrapped | null => {
  for (const wrapping of wrappings) {
    const inside = wrapping.safeParse(raw);
    if (inside.success) return inside.data;
  }
  return null;
};

const byHand = z.object({ instance: z.string() }).transform(({ instance }, context) => {
  const path = instancePath(machineOf({ source: 'providerID', driver: null, value: instance }) ?? instance);
  if (path) return path;
  context.addIssue({
    code: 'custom',
    path: ['instance'],
    message: 'is no path of an instance (projects/…/zones/…/instances/…)',
  });
  return z.NEVER;
});

const readByHand = (raw: object, where: string): ParsedEvent => {
  const asked = byHand.safeParse(raw);
  if (!asked.success)
    return unreadable(asked.error, where, 'name one instance: { "instance": "projects/…/zones/…/instances/…" }', raw);
  return hinted([{ ...placeIn(asked.data), because: 'by-hand', eventId: null, time: null, replay: null }]);
};

/** The payload of an entry alone, as whoever passes it on may have cut it out. */
const readPayload = (payload: object, where: string): ParsedEvent => {
  const { faults, ...rest } = readLogEntry({ protoPayload: payload }, where);
  return {
    ...rest,
    faults: faults.map((one) => ({ ...one, where: one.where.replace(`${where}.protoPayload`, where) })),
  };
};

const readObject: Dialect['readObject'] = (raw, where, onward) => {
  if ('protoPayload' in raw) return readLogEntry(raw, where);
  if ('instance' in raw) return readByHand(raw, where);
  const inside = unwrap(raw);
  if (inside) return onward(inside.value, inside.step);
  if ('methodName' in raw && 'resourceName' in raw) return readPayload(raw, where);
  if ('logName' in raw) return aside('a log entry that is none of the audit logs', where);
  return fault(
    'this is no event that is understood here',
    where,
    'send an audit log entry, a Pub/Sub message or CloudEvent around one, or { "instance": "projects/…" }',
    raw,
  );
};

/**
 * Reads whatever brings news of instances: audit log entries, Pub/Sub messages and CloudEvents around them, lists of
 * all of these, JSON text (one document, or one a line), and `{ "instance": "projects/…" }` written by hand. Never
 * throws, never passes over anything in silence, and never quotes who did something.
 */
export const readHints = readerOf({
  readObject,
  fault,
  batchIn,
  asDelivered: 'send the entry as the log router delivers it',
});
