import { z } from 'zod';
import type { Reading } from '../../../fencing/hint.ts';
import { machineOf } from '../carriers.ts';
import { instancePath } from '../paths.ts';
import { aside, hinted } from '../../events/reading.ts';
import { readerOf, type Dialect } from '../../events/walk.ts';
import { fault, unreadable } from './faults.ts';
import { placeIn, readLogEntry } from './log-entry.ts';
import { batchIn, unwrap } from './unwrap.ts';

const byHand = z.object({ instance: z.string() }).transform(({ instance }, context) => {
  const path = instancePath(machineOf({ carrier: 'providerID', driver: null, value: instance }) ?? instance);
  if (path) return path;
  context.addIssue({ code: 'custom', path: ['instance'], message: 'is no path of an instance (projects/…/zones/…/instances/…)' });
  return z.NEVER;
});

const readByHand = (raw: object, where: string): Reading => {
  const asked = byHand.safeParse(raw);
  if (!asked.success) return unreadable(asked.error, where, 'name one instance: { "instance": "projects/…/zones/…/instances/…" }', raw);
  return hinted([{ ...placeIn(asked.data), because: 'by-hand', eventId: null, time: null, replay: null }]);
};

/** The payload of an entry alone, as whoever passes it on may have cut it out. */
const readPayload = (payload: object, where: string): Reading => {
  const { faults, ...rest } = readLogEntry({ protoPayload: payload }, where);
  return { ...rest, faults: faults.map((one) => ({ ...one, where: one.where.replace(`${where}.protoPayload`, where) })) };
};

const readObject: Dialect['readObject'] = (raw, where, onward) => {
  if ('protoPayload' in raw) return readLogEntry(raw, where);
  if ('instance' in raw) return readByHand(raw, where);
  const inside = unwrap(raw);
  if (inside) return onward(inside.value, inside.step);
  if ('methodName' in raw && 'resourceName' in raw) return readPayload(raw, where);
  if ('logName' in raw) return aside('a log entry that is none of the audit logs', where);
  return fault('this is no event that is understood here', where, 'send an audit log entry, a Pub/Sub message or CloudEvent around one, or { "instance": "projects/…" }', raw);
};

/**
 * Reads whatever brings news of instances: audit log entries, Pub/Sub messages and CloudEvents around them, lists of all of
 * these, JSON text (one document, or one a line), and `{ "instance": "projects/…" }` written by hand. Never throws, never
 * passes over anything in silence, and never quotes who did something.
 */
export const readHints = readerOf({ readObject, fault, batchIn, asDelivered: 'send the entry as the log router delivers it' });
