import { pluralize, shorten } from '../../fencing/model/reason.ts';
import type { z } from 'zod';
import type { IgnoredEvent, Fault, Hint, ParsedEvent } from '../../fencing/model/cloud.ts';
import {
  type DryRunRequest,
  findDryRunRequest,
  createReadBudget,
  type JsonDocument,
  parseJsonDocuments,
  type ReadBudget,
  textOfBytes,
} from './json-text.ts';

/**
 * Unwraps an event of any cloud: texts, lists, archives, and envelopes, within limits. The cloud's own reader reads one
 * object.
 */

const dryRunOf = (readings: readonly ParsedEvent[]): Pick<ParsedEvent, 'dryRun'> => {
  const requests = readings.map(({ dryRun }) => dryRun);
  const request = requests.find((one) => one === 'unclear') ?? requests.find((one) => one === 'wanted');
  return request ? { dryRun: request } : {};
};

const mergeParsed = (readings: readonly ParsedEvent[]): ParsedEvent => ({
  ...dryRunOf(readings),
  hints: readings.flatMap(({ hints }) => hints),
  faults: readings.flatMap(({ faults }) => faults),
  ignored: readings.flatMap(({ ignored }) => ignored),
});

export const parsedHints = (hints: readonly Hint[]): ParsedEvent => ({ hints, faults: [], ignored: [] });

export const ignoredEvent = (what: string, where: string): ParsedEvent => ({
  hints: [],
  faults: [],
  ignored: [{ what: shorten(what, LONGEST), where: shorten(where, LONGEST) }],
});

/** The sender of an event determines its text, but must not determine the length of the log lines. */
const LONGEST = 300;

/**
 * Reports that a part of an event cannot be read. Quotes nothing else from the event, because faults appear in logs.
 */
export const fault = (what: string, where: string, remedy: string): ParsedEvent => ({
  hints: [],
  faults: [{ what: shorten(what, LONGEST), where: shorten(where, LONGEST), remedy: shorten(remedy, LONGEST) }],
  ignored: [],
});

/** Reports one fault for each problem. */
export const unreadable = (error: z.ZodError, where: string, remedy: string): ParsedEvent =>
  mergeParsed(
    error.issues
      .flatMap(leaves)
      .slice(0, MOST_REPORTED)
      .map(({ message, path }) => fault(message, where + jsonPath(path), remedy)),
  );

/** Returns the issues to report. For a union, the issues of the last alternative are reported. */
const leaves = (issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] => {
  const alternatives = issue.code === 'invalid_union' ? issue.errors.at(-1) : undefined;
  if (!alternatives || alternatives.length === 0) return [issue];
  return alternatives.flatMap((inner) => leaves({ ...inner, path: [...issue.path, ...inner.path] }));
};

const jsonPath = (path: readonly PropertyKey[]): string =>
  path
    .map((step) =>
      typeof step === 'number' ? `[${step}]` : /^\w+$/.test(String(step)) ? `.${String(step)}` : `['${String(step)}']`,
    )
    .join('');

/**
 * The number of faults, and of ignored events, that are reported individually for one event. Nothing is lost, because a
 * dead letter contains the event itself.
 */
const MOST_REPORTED = 20;
/** The most machines that one call to a cloud may name. */
const MOST_MACHINES = 1_000;

const fewFaults = (faults: readonly Fault[]): readonly Fault[] => {
  const [first, ...others] = faults.slice(MOST_REPORTED);
  return first
    ? [
        ...faults.slice(0, MOST_REPORTED),
        {
          ...first,
          what: `${pluralize(others.length + 1, 'more part')} of the event cannot be read`,
          remedy: 'check the event itself',
        },
      ]
    : faults;
};

const fewIgnored = (ignored: readonly IgnoredEvent[]): readonly IgnoredEvent[] => {
  const [first, ...others] = ignored.slice(MOST_REPORTED);
  return first
    ? [
        ...ignored.slice(0, MOST_REPORTED),
        { ...first, what: `${pluralize(others.length + 1, 'more part')} of the event, without a machine` },
      ]
    : ignored;
};

const shortHint = (hint: Hint): Hint => ({
  ...hint,
  because: shorten(hint.because, LONGEST),
  eventId: hint.eventId === null ? null : shorten(hint.eventId, LONGEST),
});

/** Limits the result to what Cloudfence can report and process. Machines beyond the limit are reported as a fault. */
const limitParsed = ({ hints, faults, ignored, ...request }: ParsedEvent): ParsedEvent => {
  const machines = new Set(hints.map(({ machine }) => machine));
  const kept = new Set([...machines].slice(0, MOST_MACHINES));
  const tooMany = {
    what: `the event names ${machines.size} machines, but Cloudfence looks at no more than ${MOST_MACHINES}`,
    where: '$',
    remedy: 'send the other machines in separate events; the sweep also finds them',
  };
  return {
    ...request,
    hints: hints.filter(({ machine }) => kept.has(machine)).map(shortHint),
    faults: [...(machines.size > kept.size ? [tooMany] : []), ...fewFaults(faults)],
    ignored: fewIgnored(ignored),
  };
};

/** The deepest supported nesting of envelopes, such as an event in a notification in a queue's record in a batch. */
const DEEPEST = 8;

/** A batch of messages that a queue or a stream delivers together. The messages are independent of each other. */
export interface MessageBatch {
  /** The key of the list of messages. */
  readonly key: string;
  readonly messages: readonly unknown[];
}

/** Returns the list under that key as a batch if each of its entries has one of those fields. */
export const messageBatchAt = (raw: object, key: string, fields: readonly string[]): MessageBatch | null => {
  const list: unknown = new Map<string, unknown>(Object.entries(raw)).get(key);
  const isMessage = (one: unknown): boolean =>
    typeof one === 'object' && one !== null && fields.some((field) => field in one);
  return Array.isArray(list) && list.length > 0 && list.every(isMessage) ? { key, messages: list } : null;
};

/** The part of a reader that is specific to a cloud. Texts, bytes, and lists are the same for every cloud. */
export interface EventDialect {
  /** Reads one object. `onward` reads the content of an envelope at the path `step` from here. */
  readonly readObject: (
    raw: object,
    where: string,
    onward: (inside: unknown, step: string) => ParsedEvent,
  ) => ParsedEvent;
  /** How an event should arrive, as an instruction to its sender. */
  readonly asDelivered: string;
  readonly batchIn: (raw: object) => MessageBatch | null;
}

type Read = (raw: unknown, where: string, depth: number) => ParsedEvent;

const faultOfList = (list: readonly unknown[], where: string, allowed: ReadBudget): ParsedEvent | null => {
  if (list.length === 0) return fault('the list is empty', where, 'send at least one event');
  if (allowed.count(list.length)) return null;
  return fault(`the event is too large: ${list.length} entries`, where, 'send fewer entries at a time');
};

/** Reads an event through all its envelopes. */
const createWalk = ({ readObject, asDelivered }: EventDialect, allowed: ReadBudget) => {
  const readDocuments = (documents: readonly JsonDocument[], where: string, depth: number): ParsedEvent => {
    if (documents.length === 0) return fault('the text is empty', where, 'send an event');
    const readings = documents.map((one) =>
      'value' in one
        ? read(one.value, one.where, depth + 1)
        : fault(`not JSON: ${one.problem}`, one.where, 'send JSON: one document, or one on each line'),
    );
    return mergeParsed(readings);
  };

  const readBytes = (bytes: Uint8Array, where: string, depth: number): ParsedEvent => {
    const text = textOfBytes(bytes, allowed);
    return text === null
      ? fault('the compressed data is broken, or it is too large when decompressed', where, asDelivered)
      : readDocuments(parseJsonDocuments(text, where, allowed), where, depth);
  };

  const readAll = (list: readonly unknown[], where: string, depth: number): ParsedEvent =>
    faultOfList(list, where, allowed) ??
    mergeParsed(list.map((one, index) => read(one, `${where}[${index}]`, depth + 1)));

  const read: Read = (raw, where, depth) => {
    if (depth > DEEPEST) return fault('the event is nested too deeply', where, 'send the event itself');
    if (typeof raw === 'string') return readDocuments(parseJsonDocuments(raw, where, allowed), where, depth);
    if (raw instanceof Uint8Array) return readBytes(raw, where, depth);
    if (Array.isArray(raw)) return readAll(raw, where, depth);
    if (typeof raw === 'object' && raw !== null)
      return readObject(raw, where, (inside, step) => read(inside, where + step, depth + 1));
    return fault(`expected an event and found ${raw === null ? 'null' : typeof raw}`, where, asDelivered);
  };
  return { read, readDocuments };
};

const doubts = {
  unclear: '`dryRun` is neither true nor false',
  unseen: 'the event is too large to see whether it requests a dry run',
} as const;

/**
 * Applies a request for a dry run to the whole message. If it is unclear whether a dry run is requested, the result has
 * no hints, so nothing is done.
 */
const withDryRun = (reading: ParsedEvent, request: DryRunRequest | null): ParsedEvent => {
  if (request === null) return reading;
  if (request.says === 'dry')
    return { dryRun: 'wanted', ...reading, hints: reading.hints.map((hint) => ({ ...hint, dryRun: true as const })) };
  const { faults } = fault(doubts[request.says], request.where, 'send true or false');
  return { hints: [], faults: [...faults, ...reading.faults], ignored: reading.ignored, dryRun: 'unclear' };
};

/** Bytes are excluded, because ten megabytes of them would be an object with ten million fields. */
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !(value instanceof Uint8Array);

const withoutBatch = (raw: object, { key }: MessageBatch): object =>
  Object.fromEntries(Object.entries(raw).filter(([other]) => other !== key));

/** Creates a reader that never throws and never drops anything silently. */
export const createEventReader = (dialect: EventDialect): ((raw: unknown) => ParsedEvent) => {
  const { batchIn } = dialect;
  return (raw) => {
    const allowed = createReadBudget();
    const { read, readDocuments } = createWalk(dialect, allowed);
    const documents = typeof raw === 'string' ? parseJsonDocuments(raw, '$', allowed) : [{ where: '$', value: raw }];
    const values = documents.flatMap((one) => ('value' in one ? [one.value] : []));
    const [only] = values;
    const batch = documents.length === 1 && isObject(only) ? batchIn(only) : null;
    if (!batch || !isObject(only) || !allowed.count(batch.messages.length)) {
      const reading = typeof raw === 'string' ? readDocuments(documents, '$', 0) : read(raw, '$', 0);
      return limitParsed(withDryRun(reading, findDryRunRequest(documents.length === 1 ? only : values)));
    }
    const around = findDryRunRequest(withoutBatch(only, batch));
    const readMessage = (one: unknown, where: string) =>
      withDryRun(withDryRun(read(one, where, 2), findDryRunRequest(one, where)), around);
    return limitParsed(mergeParsed(batch.messages.map((one, index) => readMessage(one, `$.${batch.key}[${index}]`))));
  };
};
