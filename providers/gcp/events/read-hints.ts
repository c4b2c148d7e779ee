import { z } from 'zod';
import type { ParsedEvent } from '../../../fencing/model/hint.ts';
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
import { instancePath, machineOf } from '../identity.ts';
import { hintFieldsOf, readLogEntry } from './log-entry.ts';

interface Wrapped {
  readonly value: unknown;
  /** The JSON path to the unwrapped value. */
  readonly step: string;
}

/**
 * Bytes in the JSON form of protobuf: in either base64 alphabet, with or without padding.
 * https://protobuf.dev/programming-guides/json
 */
const NO_BASE64 = /[^\w+/=-]/;
export const structuredCloudEvent = z.string().refine((text) => !NO_BASE64.test(text), 'is not base64');

/** https://cloud.google.com/pubsub/docs/reference/rest/v1/PubsubMessage */
const message = z
  .object({ data: structuredCloudEvent })
  .transform(({ data }): Wrapped => ({ value: data, step: '.data' }));

/** The body of a push request, and each message of a pull. https://cloud.google.com/pubsub/docs/push */
const delivery = z
  .object({ message: z.object({ data: structuredCloudEvent }) })
  .transform(({ message: inner }): Wrapped => ({ value: inner.data, step: '.message.data' }));

/**
 * An event as functions of the first generation receive it.
 * https://cloud.google.com/functions/docs/writing/write-event-driven-functions
 */
const background = z
  .object({ context: z.object({ eventType: z.string() }), data: z.unknown() })
  .transform(({ data }): Wrapped => ({ value: data, step: '.data' }));
const pulled = z
  .object({ receivedMessages: z.array(z.unknown()) })
  .transform(({ receivedMessages }): Wrapped => ({ value: receivedMessages, step: '.receivedMessages' }));

/** The answer of entries.list, as people store it in a file. */
const entries = z
  .object({ entries: z.array(z.unknown()) })
  .transform((list): Wrapped => ({ value: list.entries, step: '.entries' }));

/** https://github.com/googleapis/google-cloudevents */
const cloudEvent = z
  .object({ specversion: z.string(), data: z.unknown() })
  .transform(({ data }): Wrapped => ({ value: data, step: '.data' }));
const encodedCloudEvent = z
  .object({ specversion: z.string(), data_base64: structuredCloudEvent })
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

const batchIn = (raw: object): MessageBatch | null => messageBatchAt(raw, 'receivedMessages', ['message']);

/** Returns the unwrapped value, or null if the object is not an envelope. */
const unwrap = (raw: object): Wrapped | null => {
  for (const wrapping of wrappings) {
    const inside = wrapping.safeParse(raw);
    if (inside.success) return inside.data;
  }
  return null;
};

const manualRequest = z.object({ instance: z.string() }).transform(({ instance }, context) => {
  const path = instancePath(machineOf({ source: 'providerID', driver: null, value: instance }) ?? instance);
  if (path) return path;
  context.addIssue({
    code: 'custom',
    path: ['instance'],
    message: 'is not the path of an instance (projects/…/zones/…/instances/…)',
  });
  return z.NEVER;
});

const readByHand = (raw: object, where: string): ParsedEvent => {
  const asked = manualRequest.safeParse(raw);
  if (!asked.success)
    return unreadable(asked.error, where, 'name one instance: { "instance": "projects/…/zones/…/instances/…" }');
  return parsedHints([{ ...hintFieldsOf(asked.data), because: 'by-hand', eventId: null, time: null, replay: null }]);
};

/** Reads only the payload of an entry, without the entry around it. */
const readPayload = (payload: object, where: string): ParsedEvent => {
  const { faults, ...rest } = readLogEntry({ protoPayload: payload }, where);
  return {
    ...rest,
    faults: faults.map((one) => ({ ...one, where: one.where.replace(`${where}.protoPayload`, where) })),
  };
};

const readObject: EventDialect['readObject'] = (raw, where, onward) => {
  if ('protoPayload' in raw) return readLogEntry(raw, where);
  if ('instance' in raw) return readByHand(raw, where);
  const inside = unwrap(raw);
  if (inside) return onward(inside.value, inside.step);
  if ('methodName' in raw && 'resourceName' in raw) return readPayload(raw, where);
  if ('logName' in raw) return ignoredEvent('a log entry that is not from an audit log', where);
  return fault(
    'this is not an event that Cloudfence supports',
    where,
    'send an audit log entry, a Pub/Sub message or CloudEvent around one, or { "instance": "projects/…" }',
  );
};

/**
 * Reads any message about instances: audit log entries; Pub/Sub messages and CloudEvents around them; lists of all of
 * these; JSON text (one document, or one per line); and `{ "instance": "projects/…" }` that a person writes. Never
 * throws, never drops anything silently, and never quotes the person who made a call.
 */
export const readHints = createEventReader({
  readObject,
  batchIn,
  asDelivered: 'send the entry as the log router delivers it',
});
