import { z } from 'zod';
import type { Hint, ParsedEvent } from '../../../fencing/model/cloud.ts';
import { parseJsonOrText } from '../../../fencing/model/json-text.ts';
import {
  createEventReader,
  type EventDialect,
  fault,
  ignoredEvent,
  parsedHints,
  unreadable,
} from '../../events/reading.ts';
import { INSTANCE_ID } from '../identity.ts';
import { batchIn, unwrap } from './envelope.ts';
import { eventKinds, instanceId, type ParsedDetail, parseTime, readNotification } from './kinds.ts';

/**
 * The fields that all EventBridge events share. Neither the id nor the time is validated, because some published
 * samples have ids that are not UUIDs and placeholder times.
 * https://docs.aws.amazon.com/eventbridge/latest/ref/events-structure.html
 */
const envelope = z.object({
  'detail-type': z.string(),
  source: z.string().nullish(),
  id: z.string().nullish(),
  account: z.string().nullish(),
  region: z.string().nullish(),
  time: z.string().nullish(),
  'replay-name': z.string().nullish(),
});

type Envelope = z.infer<typeof envelope>;

/**
 * Sources that also send events that are not about an instance, and new kinds of events. Such an event is not a mistake
 * in a person's rule.
 */
const OUR_SOURCES: ReadonlySet<string> = new Set([
  'aws.ec2',
  'aws.ec2fleet',
  'aws.ec2spotfleet',
  'aws.autoscaling',
  'aws.health',
]);

const detailOf = (raw: object): unknown => ('detail' in raw ? raw.detail : undefined);

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the event as EC2 sends it: the detail parsed from text, and the instance under the published field names. */
const asPublished = (raw: object): object => {
  const written = detailOf(raw);
  const detail = typeof written === 'string' ? parseJsonOrText(written) : written;
  if (!isObject(detail)) return { ...raw, detail };
  const arns = namesAny(detail) ? [] : namedByArn(raw);
  const machine = namedInDetail(detail) ?? (arns.length === 1 ? (arns[0] ?? null) : null);
  return machine === null
    ? { ...raw, detail }
    : { ...raw, detail: { 'instance-id': machine, EC2InstanceId: machine, ...detail } };
};

/** Returns the instances in an AWS event of an unknown kind. Such an event is still a reason to look at them. */
const machinesIn = (raw: object): readonly string[] => {
  const detail = detailOf(raw);
  const named = isObject(detail) ? namedInDetail(detail) : null;
  return named === null ? namedByArn(raw) : [named];
};

const kebab = (type: string): string =>
  type
    .slice(0, LONGEST_WORD)
    .replaceAll(/[^A-Za-z\d]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .toLowerCase();
const LONGEST_WORD = 60;

const readEventBridgeEvent = (sent: object, where: string): ParsedEvent => {
  const raw = asPublished(sent);
  const outer = envelope.safeParse(raw);
  if (!outer.success) return unreadable(outer.error, where, 'send the event as EventBridge delivers it');
  const type = outer.data['detail-type'];
  const kind = eventKinds.get(type);
  const machines = !kind && OUR_SOURCES.has(outer.data.source ?? '') ? machinesIn(raw) : [];
  if (machines.length > 0) return readingOf(outer.data, { machines, because: `event-${kebab(type)}` }, where);
  if (!kind && OUR_SOURCES.has(outer.data.source ?? '')) return ignoredEvent(`an event of the type "${type}"`, where);
  if (!kind)
    return fault(
      `Cloudfence does not support events of the type "${type}"`,
      `${where}['detail-type']`,
      'change the pattern of the rule so that it does not send this type',
    );
  const inner = kind.safeParse(raw);
  if (!inner.success) return unreadable(inner.error, where, `check the event against the published shape of "${type}"`);
  return readingOf(outer.data, inner.data, where);
};

const readingOf = (outer: Envelope, understood: ParsedDetail, where: string): ParsedEvent =>
  understood.machines === null
    ? ignoredEvent(understood.whyIgnored, where)
    : parsedHints(understood.machines.map((machine) => hintOf(outer, machine, understood)));

const hintOf = (
  outer: Envelope,
  machine: string,
  { because, at }: Extract<ParsedDetail, { readonly because: string }>,
): Hint => ({
  machine,
  because,
  eventId: outer.id ?? null,
  time: parseTime(outer.time),
  account: at?.account ?? outer.account ?? null,
  region: at?.region ?? outer.region ?? null,
  replay: outer['replay-name'] ?? null,
});

/**
 * A record from CloudTrail's log files. EventBridge turns such records into events.
 * https://docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-event-reference-record-contents.html
 */
const record = z.looseObject({
  eventSource: z.string().endsWith('.amazonaws.com'),
  eventName: z.string(),
  eventType: z.string().nullish(),
  eventID: z.string().nullish(),
  eventTime: z.string().nullish(),
  awsRegion: z.string().nullish(),
  recipientAccountId: z.string().nullish(),
  userIdentity: z.object({ accountId: z.string().nullish() }).nullish(),
});

const typeOf = (eventType: string | null | undefined): string =>
  eventType === 'AwsServiceEvent' ? 'AWS Service Event via CloudTrail' : 'AWS API Call via CloudTrail';

/** Reads a CloudTrail record. Returns null for anything else. */
const readTrailRecord = (raw: object, where: string): ParsedEvent | null => {
  const read = record.safeParse(raw);
  if (!read.success) return null;
  const { eventType, eventID: id, eventTime: time, awsRegion: region, recipientAccountId, userIdentity } = read.data;
  const event = {
    'detail-type': typeOf(eventType),
    id,
    time,
    region,
    account: recipientAccountId ?? userIdentity?.accountId,
    detail: raw,
  };
  const { faults, ...rest } = readEventBridgeEvent(event, where);
  return {
    ...rest,
    faults: faults.map((fault) => ({ ...fault, where: fault.where.replace(`${where}.detail`, where) })),
  };
};

/**
 * Reads only the detail of an event, which a rule sends if its input path is `$.detail`. The fields of the detail show
 * the kind of the event.
 */

const detailTypeOf = (detail: object): string | null => {
  if ('affectedEntities' in detail && 'service' in detail) return 'AWS Health Event';
  if ('instance-action' in detail) return 'EC2 Spot Instance Interruption Warning';
  if ('sub-type' in detail) return 'EC2 Fleet Instance Change';
  if ('state' in detail) return 'EC2 Instance State-change Notification';
  return null;
};

/** Reads such a detail. Returns null for anything else. */
const readDetail = (detail: object, where: string): ParsedEvent | null => {
  const type = detailTypeOf(detail) ?? (namesAny(detail) ? 'detail' : null);
  if (type === null || (type !== 'AWS Health Event' && !namesAny(detail))) return null;
  const { faults, ...rest } = readEventBridgeEvent({ 'detail-type': type, detail }, where);
  return {
    ...rest,
    faults: faults.map((fault) => ({ ...fault, where: fault.where.replace(`${where}.detail`, where) })),
  };
};

/**
 * Finds the instance that an event names, whatever field name the sender uses. The event names it in the detail, or
 * only in an ARN next to the detail.
 */

const ARN = /^arn:[^:]+:ec2:[^:]*:[^:]*:instance\/(i-[0-9a-f]{8,17})$/;
const LONGEST_NAME = 30;
const NAMES: ReadonlySet<string> = new Set(['instanceid', 'ec2instanceid']);

const isIt = (key: string): boolean =>
  key.length <= LONGEST_NAME && NAMES.has(key.toLowerCase().replaceAll(/[-_]/g, ''));

/** Returns the values of the fields that may name an instance, valid or not. */
const fieldsOf = (detail: object): readonly unknown[] =>
  Object.entries(detail).flatMap(([key, value]) =>
    isIt(key) && value !== '' && value != null ? [value as unknown] : [],
  );

const listed = (raw: object): readonly unknown[] =>
  'resources' in raw && Array.isArray(raw.resources) ? raw.resources : [];

const isInstance = (value: unknown): value is string => typeof value === 'string' && INSTANCE_ID.test(value);

/**
 * Returns the only instance that the detail names. Returns null if the detail names no instance, several, or something
 * else.
 */
const namedInDetail = (detail: object): string | null => {
  const [only, ...others] = new Set(fieldsOf(detail));
  return isInstance(only) && others.length === 0 ? only : null;
};

const MOST_ARNS = 1_000;

/** Returns the instances that the event lists as ARNs next to its detail. */
const namedByArn = (raw: object): readonly string[] => {
  const named = listed(raw)
    .slice(0, MOST_ARNS)
    .flatMap((arn) => (typeof arn === 'string' && arn.length < 200 ? (ARN.exec(arn)?.[1] ?? []) : []));
  return [...new Set(named)];
};

/**
 * Returns whether a field of the detail names an instance, even with an invalid id. If so, an ARN must not replace that
 * field.
 */
const namesAny = (detail: object): boolean => fieldsOf(detail).length > 0;

const manualRequest = z.object({
  instanceId,
  account: z.string().nullish(),
  region: z.string().nullish(),
});

const readByHand = (raw: object, where: string): ParsedEvent => {
  const asked = manualRequest.safeParse(raw);
  if (!asked.success) return unreadable(asked.error, where, 'name one instance: { "instanceId": "i-…" }');
  const { instanceId, account = null, region = null } = asked.data;
  return parsedHints([
    { machine: instanceId, because: 'by-hand', eventId: null, time: null, account, region, replay: null },
  ]);
};

const readObject: EventDialect['readObject'] = (raw, where, onward) => {
  if ('detail-type' in raw) return readEventBridgeEvent(raw, where);
  if ('instanceId' in raw && !('state' in raw)) return readByHand(raw, where);
  const inside = unwrap(raw);
  if (inside) return onward(inside.value, inside.step);
  if ('messageType' in raw && raw.messageType === 'CONTROL_MESSAGE')
    return ignoredEvent('a control message of CloudWatch Logs', where);
  const parsed = readNotification(raw, where) ?? readTrailRecord(raw, where) ?? readDetail(raw, where);
  return (
    parsed ??
    fault(
      'this is not an event that Cloudfence supports',
      where,
      'send an EventBridge event, an SQS or SNS record around one, or { "instanceId": "i-…" }',
    )
  );
};

/**
 * Reads any message about instances: an EventBridge event or many of them; SQS records and SNS notifications around
 * them; archive replays; CloudTrail records; only the detail, as a rule may send it; log subscriptions; Kinesis;
 * Firehose; JSON text (one document, or one per line); and `{ "instanceId": "i-…" }` that a person writes. Never
 * throws, and never drops anything silently.
 */
export const readHints = createEventReader({
  readObject,
  batchIn,
  asDelivered: 'send the event as EventBridge delivers it',
});
