import { z } from 'zod';
import type { ParsedEvent } from '../../../fencing/model/cloud.ts';
import {
  createEventReader,
  type EventDialect,
  fault,
  messageBatchAt,
  parsedHints,
  unreadable,
} from '../../events/reading.ts';
import { isEnvelope, readEnvelope, readEventData, parsedEventOf } from './envelope.ts';
import {
  subjectOf,
  detailOfResource,
  detailOfFirstMachine,
  toKebabCase,
  parseTime,
  namesNoMachine,
  reasonIn,
  activityLogValue,
  type ParsedDetail,
} from './kinds.ts';

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

/**
 * Azure Monitor alerts from an action group: in the common schema, in the older schemas of activity-log and metric
 * alerts, or only their innermost part. https://learn.microsoft.com/azure/azure-monitor/alerts/alerts-common-schema
 */

/** The content of an alert on the activity log or on a metric. Cloudfence never reads its claims. */
const context = z.object({
  operationName: activityLogValue.nullish(),
  eventSource: activityLogValue.nullish(),
  eventDataId: z.string().nullish(),
  eventTimestamp: z.string().nullish(),
  status: activityLogValue.nullish(),
  authorization: z.object({ scope: z.string().nullish() }).nullish(),
  resourceId: z.string().nullish(),
  condition: z.unknown().optional(),
});

const criteria = z.object({ allOf: z.array(z.object({ metricName: z.string() })) });

const essentials = z.object({
  alertTargetIDs: z.array(z.string()).nullish(),
  monitoringService: z.string().nullish(),
  firedDateTime: z.string().nullish(),
  alertId: z.string().nullish(),
});

interface Alert {
  readonly outer: z.infer<typeof essentials>;
  readonly inner: z.infer<typeof context>;
}

const common = z
  .object({ data: z.object({ essentials, alertContext: context.nullish() }) })
  .transform(({ data }): Alert => ({ outer: data.essentials, inner: data.alertContext ?? {} }));

const activityLog = z
  .object({ data: z.object({ context: z.object({ activityLog: context }) }) })
  .transform(({ data }): Alert => ({ outer: {}, inner: data.context.activityLog }));

const metric = z
  .object({ data: z.object({ context }) })
  .transform(({ data }): Alert => ({ outer: {}, inner: data.context }));

const bare = z
  .object({ alertContext: context })
  .transform(({ alertContext }): Alert => ({ outer: {}, inner: alertContext }));

/** Schemas by name, in lower case. */
const schemas: ReadonlyMap<string, z.ZodType<Alert>> = new Map<string, z.ZodType<Alert>>([
  ['azuremonitorcommonalertschema', common],
  ['microsoft.insights/activitylogs', activityLog],
  ['azuremonitormetricalert', metric],
]);

const schemaName = z.unknown().transform((name) => (typeof name === 'string' ? name : ''));

const COMMON_SCHEMA = 'send the alert in the common alert schema';

const isAlert = (raw: object): boolean => 'schemaId' in raw || 'alertContext' in raw;

const readAlert = (raw: object, where: string): ParsedEvent => {
  const schemaId = 'schemaId' in raw ? schemaName.parse(raw.schemaId) : null;
  const schema = schemaId === null ? bare : schemas.get(schemaId.toLowerCase());
  if (!schema)
    return fault(`Cloudfence does not support alerts of the schema "${schemaId}"`, `${where}.schemaId`, COMMON_SCHEMA);
  const alert = schema.safeParse(raw);
  if (!alert.success) return unreadable(alert.error, where, COMMON_SCHEMA);
  const { outer, inner } = alert.data;
  const origin = {
    eventId: inner.eventDataId ?? outer.alertId ?? null,
    time: parseTime(inner.eventTimestamp ?? outer.firedDateTime),
  };
  return parsedEventOf(understood(alert.data), origin, where);
};

const RESOURCE_HEALTH = /^resource ?health$/i;
/**
 * https://learn.microsoft.com/azure/azure-monitor/reference/supported-metrics/microsoft-compute-virtualmachines-metrics
 */
const AVAILABILITY = 'vmavailabilitymetric';

const isOfAvailability = (condition: unknown): boolean =>
  criteria.safeParse(condition).data?.allOf.some(({ metricName }) => metricName.toLowerCase() === AVAILABILITY) ??
  false;

const understood = ({ inner, outer }: Alert): ParsedDetail => {
  const { operationName, eventSource, status, authorization, resourceId, condition } = inner;
  const candidates = [authorization?.scope, resourceId]
    .map((resource) => (resource ? [resource] : []))
    .concat([outer.alertTargetIDs ?? []]);
  if (RESOURCE_HEALTH.test(eventSource ?? outer.monitoringService ?? ''))
    return detailOfFirstMachine(candidates, 'alert-resource-health');
  if (isOfAvailability(condition)) return detailOfFirstMachine(candidates, 'alert-availability');
  const reason = reasonIn(operationName ?? '');
  if (reason === null) return namesNoMachine(`an alert about ${operationName ?? 'something else'}`);
  return detailOfFirstMachine(candidates, `alert-${reason}${status ? `-${toKebabCase(status)}` : ''}`);
};

/**
 * A record of the activity log: in upper case from diagnostic settings, or in the format of a list call. Cloudfence
 * never reads its claims and callers. https://learn.microsoft.com/azure/azure-monitor/platform/activity-log-schema
 */
const record = z.object({
  operationName: activityLogValue,
  resourceId: z.string(),
  category: activityLogValue.nullish(),
  resultType: z.string().nullish(),
  status: activityLogValue.nullish(),
  eventDataId: z.string().nullish(),
  correlationId: z.string().nullish(),
  time: z.string().nullish(),
  eventTimestamp: z.string().nullish(),
});

type ActivityRecord = z.infer<typeof record>;

const isActivityRecord = (raw: object): boolean => 'operationName' in raw && 'resourceId' in raw;

const readActivityRecord = (raw: object, where: string): ParsedEvent => {
  const read = record.safeParse(raw);
  if (!read.success) return unreadable(read.error, where, 'check the record against the schema of the activity log');
  const { eventDataId, correlationId, time, eventTimestamp } = read.data;
  return parsedEventOf(
    understoodRecord(read.data),
    { eventId: eventDataId ?? correlationId ?? null, time: parseTime(eventTimestamp ?? time) },
    where,
  );
};

const understoodRecord = ({
  operationName,
  resourceId,
  category,
  resultType,
  status,
}: ActivityRecord): ParsedDetail => {
  if (/^resourcehealth$/i.test(category ?? '')) return detailOfResource(resourceId, 'activity-resource-health');
  const reason = reasonIn(operationName);
  const outcome = status ?? resultType;
  return reason === null
    ? namesNoMachine(`a record of ${operationName}`)
    : detailOfResource(resourceId, `activity-${reason}${outcome ? `-${toKebabCase(outcome)}` : ''}`);
};
