import type { Reading } from '../../fencing/hint.ts';
import { jsonIn } from './json-text.ts';
import { together, type Faults } from './reading.ts';

/** Wrappings inside wrappings, such as an event in a notification in a queue's record in a batch; deeper is nonsense. */
const DEEPEST = 8;

/** What one cloud's reader knows beside texts, bytes and lists, which are everywhere the same. */
export interface Dialect {
  /** Reads one object; `onward` goes on with what it is wrapped around, `step` from here. */
  readonly readObject: (raw: object, where: string, onward: (inside: unknown, step: string) => Reading) => Reading;
  readonly fault: Faults['fault'];
  /** How an event should come, as an order to whoever sends it. */
  readonly asDelivered: string;
  /** What a text may be encoded in that is no JSON as it stands. */
  readonly decoded?: (text: string) => string;
}

/** A reader that never throws, and never passes over anything in silence. */
export const readerOf = (dialect: Dialect): ((raw: unknown) => Reading) => {
  const { readObject, fault, asDelivered, decoded = (text) => text } = dialect;

  const readText = (text: string, where: string, depth: number): Reading => {
    const documents = jsonIn(text, where, decoded);
    if (documents.length === 0) return fault('the text is empty', where, 'send an event', text);
    const readings = documents.map((one) =>
      'value' in one ? read(one.value, one.where, depth + 1) : fault(`not JSON: ${one.problem}`, one.where, 'send JSON: one document, or one on each line', text),
    );
    return together(readings);
  };

  const readAll = (list: readonly unknown[], where: string, depth: number): Reading =>
    list.length === 0 ? fault('the list is empty', where, 'send at least one event', list) : together(list.map((one, index) => read(one, `${where}[${index}]`, depth + 1)));

  const read = (raw: unknown, where: string, depth: number): Reading => {
    if (depth > DEEPEST) return fault('the event is wrapped too often', where, 'send the event itself', raw);
    if (typeof raw === 'string') return readText(raw, where, depth);
    if (raw instanceof Uint8Array) return readText(Buffer.from(raw).toString('utf8'), where, depth);
    if (Array.isArray(raw)) return readAll(raw, where, depth);
    if (typeof raw === 'object' && raw !== null) return readObject(raw, where, (inside, step) => read(inside, where + step, depth + 1));
    return fault(`expected an event and found ${raw === null ? 'null' : typeof raw}`, where, asDelivered, raw);
  };

  return (raw) => read(raw, '$', 0);
};
