import { z } from 'zod';
import type { Reading } from '../../../fencing/hint.ts';
import { INSTANCE_ID } from '../ids.ts';
import { readEnvelope, unreadable } from './envelope.ts';
import { aside, fault, hinted, together } from './reading.ts';
import { jsonIn } from './json-text.ts';
import { TEST_NOTIFICATION } from './kinds.ts';

/** Wrappings inside wrappings, such as EventBridge in SNS in SQS in a batch; deeper is nonsense. */
const DEEPEST = 8;

/**
 * Reads whatever brings news of instances: an EventBridge event, many of them, SQS records and SNS notifications around
 * them, archive replays, JSON text (one document, or one a line), and `{ "instanceId": "i-…" }` written by hand.
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

/** An SQS or SNS record carries the event as text; a batch of them stands under `Records`. */
const batch = z.object({ Records: z.array(z.unknown()) });
const sqsRecord = z.object({ body: z.string() });
const snsRecord = z.object({ Sns: z.object({ Message: z.string() }) });
const snsMessage = z.object({ Type: z.literal('Notification'), Message: z.string() });
const testNotification = z.object({ Event: z.literal(TEST_NOTIFICATION) });

const readObject = (raw: object, where: string, depth: number): Reading => {
  if ('detail-type' in raw) return readEnvelope(raw, where);
  if ('instanceId' in raw) return readByHand(raw, where);
  const inside = unwrap(raw);
  if (inside) return read(inside.value, where + inside.step, depth + 1);
  if (testNotification.safeParse(raw).success) return aside('a test notification of Auto Scaling', where);
  return fault(
    'this is no event that is understood here',
    where,
    'send an EventBridge event, an SQS or SNS record around one, or { "instanceId": "i-…" }',
    raw,
  );
};

const unwrap = (raw: object): { readonly value: unknown; readonly step: string } | null => {
  const records = batch.safeParse(raw);
  if (records.success) return { value: records.data.Records, step: '.Records' };
  const queued = sqsRecord.safeParse(raw);
  if (queued.success) return { value: queued.data.body, step: '.body' };
  const published = snsRecord.safeParse(raw);
  if (published.success) return { value: published.data.Sns.Message, step: '.Sns.Message' };
  const message = snsMessage.safeParse(raw);
  return message.success ? { value: message.data.Message, step: '.Message' } : null;
};

const byHand = z.object({
  instanceId: z.string().regex(INSTANCE_ID, 'is no instance id (i- and 8 to 17 lower-case hexadecimal digits)'),
  account: z.string().nullish(),
  region: z.string().nullish(),
});

const readByHand = (raw: object, where: string): Reading => {
  const asked = byHand.safeParse(raw);
  if (!asked.success) return unreadable(asked.error, where, raw, 'name one instance: { "instanceId": "i-…" }');
  const { instanceId, account = null, region = null } = asked.data;
  return hinted([{ machine: instanceId, because: 'by-hand', eventId: null, time: null, account, region, replay: null }]);
};
