import { z } from 'zod';
import type { ParsedEvent } from '../../../fencing/model/hint.ts';
import {
  createEventReader,
  type EventDialect,
  fault,
  messageBatchAt,
  parsedHints,
  unreadable,
} from '../../events/reading.ts';
import { isEnvelope, readEnvelope, readEventData } from './envelope.ts';
import { isActivityRecord, isAlert, readActivityRecord, readAlert } from './alert.ts';
import { subjectOf } from './kinds.ts';

const DELIVERED = 'send the event as Event Grid or Azure Monitor delivers it';

const manualRequest = z.object({
  resourceId: z
    .string()
    .transform((id) => id.replace(/^azure:\/\//i, ''))
    .refine((id) => subjectOf(id) !== null, 'is not the resource id of a virtual machine or a scale set'),
});

const readByHand = (raw: object, where: string): ParsedEvent => {
  const asked = manualRequest.safeParse(raw);
  if (!asked.success)
    return unreadable(asked.error, where, 'name one machine: { "resourceId": "/subscriptions/…/virtualMachines/…" }');
  const subject = subjectOf(asked.data.resourceId);
  if (!subject) return fault('this is not a machine', where, 'name one machine');
  return parsedHints([
    {
      machine: subject.id,
      because: 'by-hand',
      eventId: null,
      time: null,
      account: subject.subscription,
      region: null,
      replay: null,
    },
  ]);
};

/**
 * Keys under which an envelope contains an event as its text or body.
 * https://learn.microsoft.com/rest/api/storageservices/get-messages
 */
const WRAPPINGS = [
  'body',
  'Body',
  'messageText',
  'MessageText',
  'records',
  'Records',
  'value',
  'event',
  'data_base64',
  'data',
] as const;

const readObject: EventDialect['readObject'] = (raw, where, onward) => {
  if (isEnvelope(raw)) return readEnvelope(raw, where);
  if (isAlert(raw)) return readAlert(raw, where);
  if (isActivityRecord(raw)) return readActivityRecord(raw, where);
  if ('resourceId' in raw) return readByHand(raw, where);
  const inside = readEventData(raw, where);
  if (inside) return inside;
  const fields = new Map<string, unknown>(Object.entries(raw));
  const wrapping = WRAPPINGS.find((key) => fields.has(key));
  if (wrapping !== undefined) return onward(fields.get(wrapping), `.${wrapping}`);
  return fault(
    'this is not an event that Cloudfence supports',
    where,
    `${DELIVERED}, or { "resourceId": "/subscriptions/…" }`,
  );
};

/**
 * Returns the events that Event Grid gives to a client that pulls them.
 * https://learn.microsoft.com/azure/event-grid/pull-delivery-overview
 */
const batchIn = (raw: object) => messageBatchAt(raw, 'value', ['event']);

/**
 * Reads any message about virtual machines: Event Grid events in either schema, one or many of them; alerts on the
 * activity log, and its records; the records of storage queues and Service Bus around them; JSON text (also in base64,
 * one document or one per line); and `{ "resourceId": "/subscriptions/…" }` that a person writes. A hint may name a
 * scale set instead of a machine. The provider's `expand` replaces the set with its machines. Never throws, and never
 * drops anything silently.
 */
export const readHints = createEventReader({ readObject, batchIn, asDelivered: DELIVERED });
