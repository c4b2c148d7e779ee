import { z } from 'zod';
import type { ParsedEvent } from '../../../fencing/model/cloud.ts';
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
import {
  instancePath,
  machineOf,
  type InstancePath,
  machineIdOf,
  NUMERIC_ID,
  pathFromLink,
  regionOf,
} from '../identity.ts';
import type { MachineId } from '../../../fencing/model/machine.ts';

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

/**
 * An entry of Cloud Audit Logs.
 * https://cloud.google.com/logging/docs/reference/audit/auditlog/rest/Shared.Types/AuditLog
 */

const text = z.string().nullish();
/** Some libraries that write protobuf as JSON write numbers as text, or the words of an enumeration as numbers. */
const number = z
  .union([
    z.number(),
    z
      .string()
      .regex(/^-?\d+$/)
      .transform(Number),
  ])
  .nullish();

const entry = z.object({
  protoPayload: z.object({
    methodName: z.string(),
    resourceName: text,
    status: z.object({ code: number }).nullish(),
  }),
  resource: z.object({ labels: z.object({ project_id: text }).nullish() }).nullish(),
  operation: z.object({ first: z.boolean().nullish(), last: z.boolean().nullish() }).nullish(),
  severity: z.union([z.string(), z.number()]).nullish(),
  insertId: text,
  timestamp: text,
});

type Entry = z.infer<typeof entry>;

const readLogEntry = (raw: object, where: string): ParsedEvent => {
  const read = entry.safeParse(raw);
  if (!read.success) return unreadable(read.error, where, 'send audit log entries as the log router delivers them');
  const { methodName } = read.data.protoPayload;
  const meaning = meaningOf(methodName);
  if (meaning.kind === 'none')
    return ignoredEvent(`an entry of ${methodName}, which does not start or stop an instance by itself`, where);
  if (meaning.kind === 'call' && hasFailed(read.data))
    return ignoredEvent(`a call of ${methodName} that failed`, where);
  if (meaning.kind === 'call' && hasOnlyBegun(read.data))
    return ignoredEvent(`a call of ${methodName} that was accepted; another entry reports its end`, where);
  return readMachine(read.data, meaning.because, where);
};

/** https://cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry#logseverity */
const ERROR = 500;

/**
 * Returns whether the call failed. A status may have a message without a code. Only a code means an error. System
 * events skip this check, because they report what has already happened, whatever their severity.
 */
const hasFailed = ({ severity, protoPayload: { status } }: Entry): boolean =>
  severity === 'ERROR' || severity === ERROR || (status?.code ?? 0) !== 0;

/**
 * Returns whether this is the first of the two entries of an operation. An entry that is marked neither first nor last
 * counts as the last.
 */
const hasOnlyBegun = ({ operation }: Entry): boolean => operation?.first === true && operation.last !== true;

const readMachine = (logged: Entry, because: string, where: string): ParsedEvent => {
  const named = instancePath(pathFromLink(logged.protoPayload.resourceName ?? ''));
  const jsonPath = `${where}.protoPayload.resourceName`;
  if (!named)
    return fault(
      'is not the path of an instance (projects/…/zones/…/instances/…)',
      jsonPath,
      'send the entry as it was logged',
    );
  const path = withProjectId(named, logged.resource?.labels?.project_id ?? null);
  if (!path)
    return fault(
      'names its project by number, and no label contains the project id',
      jsonPath,
      'send the entry with resource.labels.project_id',
    );
  return parsedHints([
    {
      ...hintFieldsOf(path),
      because,
      eventId: logged.insertId ?? null,
      time: momentOf(logged.timestamp),
      replay: null,
    },
  ]);
};

/** Returns the path with the project id, which Nodes and all other sources use. */
const withProjectId = (path: InstancePath, projectId: string | null): InstancePath | null => {
  if (!NUMERIC_ID.test(path.project)) return path;
  return projectId === null ? null : instancePath(machineIdOf({ ...path, project: projectId }));
};

const hintFieldsOf = (
  path: InstancePath,
): { readonly machine: MachineId; readonly account: string; readonly region: string } => ({
  machine: machineIdOf(path),
  account: path.project,
  region: regionOf(path.zone),
});

const momentOf = (time: string | null | undefined): number | null => {
  const moment = Date.parse(time ?? '');
  return Number.isNaN(moment) ? null : moment;
};

/**
 * The effect of the methods in log entries on the power state of an instance.
 * https://cloud.google.com/compute/docs/logging/audit-logging
 */

type Meaning =
  | { readonly kind: 'call' | 'system-event'; readonly because: string }
  /** The method is not about an instance, or does not change whether it runs. */
  | { readonly kind: 'none' };

const CALL = /^(?:v1|beta|alpha)\.compute\.instances\.(\w+)$/;
const SYSTEM_EVENT = /^compute\.instances\.([\w.]+)$/;

/**
 * Calls after which an instance has another power state. `reset` is not in the list, because the instance stays RUNNING
 * during that reboot.
 */
export const powerCalls: ReadonlySet<string> = new Set([
  'delete',
  'insert',
  'resume',
  'start',
  'startWithEncryptionKey',
  'stop',
  'suspend',
]);

/**
 * System events that do not change the power. Google adds system events over time. All other system events are a reason
 * to look, because a look costs almost nothing.
 */
export const harmlessSystemEvents: ReadonlySet<string> = new Set(['migrateOnHostMaintenance', 'reset']);

const kebab = (name: string): string =>
  name
    .replaceAll('.', '-')
    .replace(/\B[A-Z]/g, (letter) => `-${letter}`)
    .toLowerCase();

const meaningOf = (methodName: string): Meaning => {
  const call = CALL.exec(methodName)?.[1];
  if (call !== undefined)
    return powerCalls.has(call) ? { kind: 'call', because: `api-call-${kebab(call)}` } : { kind: 'none' };
  const event = SYSTEM_EVENT.exec(methodName)?.[1];
  return event === undefined || harmlessSystemEvents.has(event)
    ? { kind: 'none' }
    : { kind: 'system-event', because: kebab(event) };
};
