import type { ParsedEvent } from '../../fencing/model/hint.ts';
import { createAllowance, type ReadAllowance, limitParsed, type FaultReporter, mergeParsed } from './reading.ts';
import { type DryRunRequest, findDryRunRequest } from './dry-run.ts';
import { type JsonDocument, parseJsonDocuments, textOfBytes } from './json-text.ts';

/** The deepest supported nesting of wrappers, such as an event in a notification in a queue's record in a batch. */
const DEEPEST = 8;

/** A batch of messages that a queue or a stream delivers at once. The messages are independent of each other. */
export interface MessageBatch {
  /** The key under which the messages are. */
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

/** What one cloud's reader knows in addition to texts, bytes, and lists, which are the same for every cloud. */
export interface EventDialect {
  /** Reads one object. `onward` reads what the object wraps, at the path `step` from here. */
  readonly readObject: (
    raw: object,
    where: string,
    onward: (inside: unknown, step: string) => ParsedEvent,
  ) => ParsedEvent;
  readonly fault: FaultReporter['fault'];
  /** How an event should arrive, as an instruction to its sender. */
  readonly asDelivered: string;
  readonly batchIn: (raw: object) => MessageBatch | null;
}

type Read = (raw: unknown, where: string, depth: number) => ParsedEvent;

const faultOfList = (
  list: readonly unknown[],
  where: string,
  fault: EventDialect['fault'],
  allowed: ReadAllowance,
): ParsedEvent | null => {
  if (list.length === 0) return fault('the list is empty', where, 'send at least one event', list);
  if (allowed.count(list.length)) return null;
  return fault(`the event is too large: ${list.length} entries`, where, 'send fewer entries at a time', null);
};

/** Reads an event through all its wrappers. */
const createWalk = ({ readObject, fault, asDelivered }: EventDialect, allowed: ReadAllowance) => {
  const readDocuments = (
    documents: readonly JsonDocument[],
    text: string,
    where: string,
    depth: number,
  ): ParsedEvent => {
    if (documents.length === 0) return fault('the text is empty', where, 'send an event', text);
    const readings = documents.map((one) =>
      'value' in one
        ? read(one.value, one.where, depth + 1)
        : fault(`not JSON: ${one.problem}`, one.where, 'send JSON: one document, or one on each line', text),
    );
    return mergeParsed(readings);
  };

  const readBytes = (bytes: Uint8Array, where: string, depth: number): ParsedEvent => {
    const text = textOfBytes(bytes, allowed);
    return text === null
      ? fault('the compressed data is broken, or it is too large when decompressed', where, asDelivered, null)
      : readDocuments(parseJsonDocuments(text, where, allowed), text, where, depth);
  };

  const readAll = (list: readonly unknown[], where: string, depth: number): ParsedEvent =>
    faultOfList(list, where, fault, allowed) ??
    mergeParsed(list.map((one, index) => read(one, `${where}[${index}]`, depth + 1)));

  const read: Read = (raw, where, depth) => {
    if (depth > DEEPEST) return fault('the event is nested too deeply', where, 'send the event itself', null);
    if (typeof raw === 'string') return readDocuments(parseJsonDocuments(raw, where, allowed), raw, where, depth);
    if (raw instanceof Uint8Array) return readBytes(raw, where, depth);
    if (Array.isArray(raw)) return readAll(raw, where, depth);
    if (typeof raw === 'object' && raw !== null)
      return readObject(raw, where, (inside, step) => read(inside, where + step, depth + 1));
    return fault(`expected an event and found ${raw === null ? 'null' : typeof raw}`, where, asDelivered, raw);
  };
  return { read, readDocuments };
};

const doubts = {
  unclear: '`dryRun` is neither true nor false',
  unseen: 'the event is too large to see whether it requests a dry run',
} as const;

/**
 * Applies a request for a dry run to the whole message. If the request is in doubt, the result has no hints, so nothing
 * is done.
 */
const heeded = (reading: ParsedEvent, wish: DryRunRequest | null, fault: FaultReporter['fault']): ParsedEvent => {
  if (wish === null) return reading;
  if (wish.says === 'dry')
    return { dryRun: 'wanted', ...reading, hints: reading.hints.map((hint) => ({ ...hint, dryRun: true as const })) };
  const { faults } = fault(doubts[wish.says], wish.where, 'send true or false', null);
  return { hints: [], faults: [...faults, ...reading.faults], ignored: reading.ignored, dryRun: 'unclear' };
};

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const without = (raw: object, { key }: MessageBatch): object =>
  Object.fromEntries(Object.entries(raw).filter(([other]) => other !== key));

/** Makes a reader that never throws and never drops anything silently. */
export const createEventReader = (dialect: EventDialect): ((raw: unknown) => ParsedEvent) => {
  const { fault, batchIn } = dialect;
  return (raw) => {
    const allowed = createAllowance();
    const { read, readDocuments } = createWalk(dialect, allowed);
    const documents = typeof raw === 'string' ? parseJsonDocuments(raw, '$', allowed) : [{ where: '$', value: raw }];
    const values = documents.flatMap((one) => ('value' in one ? [one.value] : []));
    const [only] = values;
    const batch = documents.length === 1 && isObject(only) ? batchIn(only) : null;
    if (!batch || !isObject(only) || !allowed.count(batch.messages.length)) {
      const reading = typeof raw === 'string' ? readDocuments(documents, raw, '$', 0) : read(raw, '$', 0);
      return limitParsed(heeded(reading, findDryRunRequest(documents.length === 1 ? only : values), fault));
    }
    const around = findDryRunRequest(without(only, batch));
    const readMessage = (one: unknown, where: string) =>
      heeded(heeded(read(one, where, 2), findDryRunRequest(one, where), fault), around, fault);
    return limitParsed(mergeParsed(batch.messages.map((one, index) => readMessage(one, `$.${batch.key}[${index}]`))));
  };
};
