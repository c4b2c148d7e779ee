import { z } from 'zod';
import type { Reading } from '../../../fencing/hint.ts';
import { aside, hinted } from '../../events/reading.ts';
import { readerOf, type Dialect } from '../../events/walk.ts';
import { fault, unreadable } from './faults.ts';
import { readEnvelope } from './envelope.ts';
import { instanceId } from './instance-id.ts';
import { namesAny } from './named.ts';
import { readNotification } from './notification.ts';
import { readTrailRecord } from './trail-record.ts';
import { batchIn, unwrap } from './unwrap.ts';

const byHand = z.object({
  instanceId,
  account: z.string().nullish(),
  region: z.string().nullish(),
});

const readByHand = (raw: object, where: string): Reading => {
  const asked = byHand.safeParse(raw);
  if (!asked.success) return unreadable(asked.error, where, 'name one instance: { "instanceId": "i-…" }', raw);
  const { instanceId, account = null, region = null } = asked.data;
  return hinted([{ machine: instanceId, because: 'by-hand', eventId: null, time: null, account, region, replay: null }]);
};

/** The kind of an event shows by the fields inside. */
const kindOf = (detail: object): string | null => {
  if ('affectedEntities' in detail && 'service' in detail) return 'AWS Health Event';
  if ('instance-action' in detail) return 'EC2 Spot Instance Interruption Warning';
  if ('sub-type' in detail) return 'EC2 Fleet Instance Change';
  if ('state' in detail) return 'EC2 Instance State-change Notification';
  return null;
};

/** What a rule sends whose input path is `$.detail`: the inside of an event; null when it is none. */
const readDetail = (detail: object, where: string): Reading | null => {
  const type = kindOf(detail) ?? (namesAny(detail) ? 'detail' : null);
  if (type === null || (type !== 'AWS Health Event' && !namesAny(detail))) return null;
  const { faults, ...rest } = readEnvelope({ 'detail-type': type, detail }, where);
  return { ...rest, faults: faults.map((fault) => ({ ...fault, where: fault.where.replace(`${where}.detail`, where) })) };
};

const readObject: Dialect['readObject'] = (raw, where, onward) => {
  if ('detail-type' in raw) return readEnvelope(raw, where);
  if ('instanceId' in raw && !('state' in raw)) return readByHand(raw, where);
  const inside = unwrap(raw);
  if (inside) return onward(inside.value, inside.step);
  if ('messageType' in raw && raw.messageType === 'CONTROL_MESSAGE') return aside('a control message of CloudWatch Logs', where);
  const told = readNotification(raw, where) ?? readTrailRecord(raw, where) ?? readDetail(raw, where);
  return told ?? fault('this is no event that is understood here', where, 'send an EventBridge event, an SQS or SNS record around one, or { "instanceId": "i-…" }', raw);
};

/**
 * Reads whatever brings news of instances: an EventBridge event, many of them, SQS records and SNS notifications around
 * them, archive replays, records of CloudTrail, what a rule sends of its detail alone, log subscriptions, Kinesis, Firehose, JSON text (one document, or one a line), and `{ "instanceId": "i-…" }` written by hand.
 * Never throws, and never passes over anything in silence.
 */
export const readHints = readerOf({ readObject, fault, batchIn, asDelivered: 'send the event as EventBridge delivers it' });
