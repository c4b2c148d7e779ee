import { z } from 'zod';
import type { Reading } from '../../../fencing/hint.ts';
import { readEnvelope, unreadable } from './envelope.ts';
import { instanceId } from './instance-id.ts';
import { jsonIn } from './json-text.ts';
import { readNotification } from './notification.ts';
import { fault, hinted, together } from './reading.ts';
import { readTrailRecord } from './trail-record.ts';
import { unwrap } from './unwrap.ts';

/** Wrappings inside wrappings, such as EventBridge in SNS in SQS in a batch; deeper is nonsense. */
const DEEPEST = 8;

/**
 * Reads whatever brings news of instances: an EventBridge event, many of them, SQS records and SNS notifications around
 * them, archive replays, records of CloudTrail, JSON text (one document, or one a line), and `{ "instanceId": "i-…" }` written by hand.
 * Never throws, and never passes over anything in silence.
 */
export const readHints = (raw: unknown): Reading => read(raw, '$', 0);

const read = (raw: unknown, where: string, depth: number): Reading => {
  if (depth > DEEPEST) return fault('the event is wrapped too often', where, 'send the event itself', raw);
  if (typeof raw === 'string') return readText(raw, where, depth);
  if (Array.isArray(raw)) return readAll(raw, where, depth);
  if (typeof raw === 'object' && raw !== null) return readObject(raw, where, depth);
  return fault(`expected an event and found ${raw === null ? 'null' : typeof raw}`, where, 'send the event as EventBridge delivers it', raw);
};

const readText = (text: string, where: string, depth: number): Reading => {
  const documents = jsonIn(text);
  if (documents.length === 0) return fault('the text is empty', where, 'send an event', text);
  return together(
    documents.map((document) => {
      const place = documents.length > 1 ? `${where}(line ${document.line})` : where;
      return document.problem === null
        ? read(document.value, place, depth + 1)
        : fault(`not JSON: ${document.problem}`, place, 'send JSON: one document, or one on each line', text);
    }),
  );
};

const readAll = (list: readonly unknown[], where: string, depth: number): Reading =>
  list.length === 0
    ? fault('the list is empty', where, 'send at least one event', list)
    : together(list.map((one, index) => read(one, `${where}[${index}]`, depth + 1)));

const readObject = (raw: object, where: string, depth: number): Reading => {
  if ('detail-type' in raw) return readEnvelope(raw, where);
  if ('instanceId' in raw) return readByHand(raw, where);
  const inside = unwrap(raw);
  if (inside) return read(inside.value, where + inside.step, depth + 1);
  const told = readNotification(raw, where) ?? readTrailRecord(raw, where);
  if (told) return told;
  return fault(
    'this is no event that is understood here',
    where,
    'send an EventBridge event, an SQS or SNS record around one, or { "instanceId": "i-…" }',
    raw,
  );
};

const byHand = z.object({
  instanceId,
  account: z.string().nullish(),
  region: z.string().nullish(),
});

const readByHand = (raw: object, where: string): Reading => {
  const asked = byHand.safeParse(raw);
  if (!asked.success) return unreadable(asked.error, where, raw, 'name one instance: { "instanceId": "i-…" }');
  const { instanceId, account = null, region = null } = asked.data;
  return hinted([{ machine: instanceId, because: 'by-hand', eventId: null, time: null, account, region, replay: null }]);
};
