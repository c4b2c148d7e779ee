import { z } from 'zod';
import type { Reading } from '../../../fencing/hint.ts';
import { isActivityRecord, readActivityRecord } from './activity-record.ts';
import { isAlert, readAlert } from './alert.ts';
import { isEnvelope, readEnvelope, unreadable } from './envelope.ts';
import { jsonIn } from './json-in.ts';
import { fault, hinted, together } from './reading.ts';
import { subjectOf } from './subject.ts';

/** A queue's record around a text around a list around an event; deeper is nonsense. */
const DEEPEST = 8;

const DELIVERED = 'send the event as Event Grid or Azure Monitor delivers it';

/**
 * Reads whatever brings news of virtual machines: Event Grid's events in either schema, alone or many of them, alerts on
 * the activity log and its records, storage queues' and Service Bus' records around them, JSON text (also in base64, one document or
 * one a line), and `{ "resourceId": "/subscriptions/…" }` written by hand. A hint may name a scale set in the place of a
 * machine: `expand` of the provider knows its machines. Never throws, and never passes over anything in silence.
 */
export const readHints = (raw: unknown): Reading => read(raw, '$', 0);

const read = (raw: unknown, where: string, depth: number): Reading => {
  if (depth > DEEPEST) return fault('the event is wrapped too often', where, 'send the event itself', raw);
  if (typeof raw === 'string') return readText(raw, where, depth);
  if (raw instanceof Uint8Array) return readText(Buffer.from(raw).toString('utf8'), where, depth);
  if (Array.isArray(raw)) return readAll(raw, where, depth);
  if (typeof raw === 'object' && raw !== null) return readObject(raw, where, depth);
  return fault(`expected an event and found ${raw === null ? 'null' : typeof raw}`, where, DELIVERED, raw);
};

const readText = (text: string, where: string, depth: number): Reading => {
  const documents = jsonIn(text, where);
  if (documents.length === 0) return fault('the text is empty', where, 'send an event', text);
  return together(
    documents.map((one) =>
      'value' in one ? read(one.value, one.where, depth + 1) : fault(`not JSON: ${one.problem}`, one.where, 'send JSON, plain or in base64: one document, or one on each line', text),
    ),
  );
};

const readAll = (list: readonly unknown[], where: string, depth: number): Reading =>
  list.length === 0 ? fault('the list is empty', where, 'send at least one event', list) : together(list.map((one, index) => read(one, `${where}[${index}]`, depth + 1)));

/** What carries an event as its text or body. https://learn.microsoft.com/rest/api/storageservices/get-messages */
const WRAPPINGS = ['body', 'Body', 'messageText', 'MessageText', 'records', 'Records', 'value', 'event'] as const;

const readObject = (raw: object, where: string, depth: number): Reading => {
  if (isEnvelope(raw)) return readEnvelope(raw, where);
  if (isAlert(raw)) return readAlert(raw, where);
  if (isActivityRecord(raw)) return readActivityRecord(raw, where);
  if ('resourceId' in raw) return readByHand(raw, where);
  const fields = new Map<string, unknown>(Object.entries(raw));
  const wrapping = WRAPPINGS.find((key) => fields.has(key));
  if (wrapping !== undefined) return read(fields.get(wrapping), `${where}.${wrapping}`, depth + 1);
  return fault('this is no event that is understood here', where, `${DELIVERED}, or { "resourceId": "/subscriptions/…" }`, raw);
};

const byHand = z.object({
  resourceId: z
    .string()
    .transform((id) => id.replace(/^azure:\/\//i, ''))
    .refine((id) => subjectOf(id) !== null, 'is no resource id of a virtual machine or a scale set'),
});

const readByHand = (raw: object, where: string): Reading => {
  const asked = byHand.safeParse(raw);
  if (!asked.success) return unreadable(asked.error, where, raw, 'name one machine: { "resourceId": "/subscriptions/…/virtualMachines/…" }');
  const subject = subjectOf(asked.data.resourceId);
  if (!subject) return fault('this is no machine', where, 'name one machine', raw);
  return hinted([{ machine: subject.id, because: 'by-hand', eventId: null, time: null, account: subject.subscription, region: null, replay: null }]);
};
