import { z } from 'zod';
import type { Reading } from '../../../fencing/hint.ts';
import { machineOf } from '../carriers.ts';
import { instancePath } from '../paths.ts';
import { jsonIn, type JsonDocument } from './json-lines.ts';
import { placeIn, readLogEntry } from './log-entry.ts';
import { aside, fault, hinted, together, unreadable } from './reading.ts';
import { unwrap } from './unwrap.ts';

/** Wrappings inside wrappings, such as a log entry in a message in a CloudEvent in a file; deeper is nonsense. */
const DEEPEST = 8;

/**
 * Reads whatever brings news of instances: audit log entries, Pub/Sub messages and CloudEvents around them, lists of all of
 * these, JSON text (one document, or one a line), and `{ "instance": "projects/…" }` written by hand. Never throws, never
 * passes over anything in silence, and never quotes who did something.
 */
export const readHints = (raw: unknown): Reading => read(raw, '$', 0);

const read = (raw: unknown, where: string, depth: number): Reading => {
  if (depth > DEEPEST) return fault('the event is wrapped too often', where, 'send the event itself', raw);
  if (typeof raw === 'string') return readText(raw, where, depth);
  if (raw instanceof Uint8Array) return readText(Buffer.from(raw).toString('utf8'), where, depth);
  if (Array.isArray(raw)) return readAll(raw, where, depth);
  if (typeof raw === 'object' && raw !== null) return readObject(raw, where, depth);
  return fault(`expected an event and found ${raw === null ? 'null' : typeof raw}`, where, 'send the entry as the log router delivers it', raw);
};

const readText = (text: string, where: string, depth: number): Reading => {
  const documents = jsonIn(text);
  if (documents.length === 0) return fault('the text is empty', where, 'send an event', text);
  return together(documents.map((document) => readDocument(document, text, where, depth)));
};

const readDocument = ({ line, value, isJson }: JsonDocument, text: string, where: string, depth: number): Reading => {
  const place = line === null ? where : `${where}(line ${line})`;
  return isJson ? read(value, place, depth + 1) : fault('not JSON', place, 'send JSON: one document, or one on each line', text);
};

const readAll = (list: readonly unknown[], where: string, depth: number): Reading =>
  list.length === 0
    ? fault('the list is empty', where, 'send at least one event', list)
    : together(list.map((one, index) => read(one, `${where}[${index}]`, depth + 1)));

const readObject = (raw: object, where: string, depth: number): Reading => {
  if ('protoPayload' in raw) return readLogEntry(raw, where);
  if ('instance' in raw) return readByHand(raw, where);
  const inside = unwrap(raw);
  if (inside) return read(inside.value, where + inside.step, depth + 1);
  if ('logName' in raw) return aside('a log entry that is none of the audit logs', where);
  return fault('this is no event that is understood here', where, 'send an audit log entry, a Pub/Sub message or CloudEvent around one, or { "instance": "projects/…" }', raw);
};

const byHand = z.object({ instance: z.string() }).transform(({ instance }, context) => {
  const path = instancePath(machineOf({ carrier: 'providerID', driver: null, value: instance }) ?? instance);
  if (path) return path;
  context.addIssue({ code: 'custom', path: ['instance'], message: 'is no path of an instance (projects/…/zones/…/instances/…)' });
  return z.NEVER;
});

const readByHand = (raw: object, where: string): Reading => {
  const asked = byHand.safeParse(raw);
  if (!asked.success) return unreadable(asked.error, where, 'name one instance: { "instance": "projects/…/zones/…/instances/…" }', raw);
  return hinted({ ...placeIn(asked.data), because: 'by-hand', eventId: null, time: null, replay: null });
};
