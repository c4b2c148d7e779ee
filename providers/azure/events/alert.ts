import { z } from 'zod';
import type { ParsedEvent } from '../../../fencing/model/hint.ts';
import { fault, unreadable } from '../../events/reading.ts';
import { parsedEventOf } from './envelope.ts';
import {
  detailOfResource,
  detailOfFirstMachine,
  toKebabCase,
  parseTime,
  namesNoMachine,
  reasonIn,
  activityLogValue,
  type ParsedDetail,
} from './kinds.ts';

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

export const isAlert = (raw: object): boolean => 'schemaId' in raw || 'alertContext' in raw;

export const readAlert = (raw: object, where: string): ParsedEvent => {
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

export const isActivityRecord = (raw: object): boolean => 'operationName' in raw && 'resourceId' in raw;

export const readActivityRecord = (raw: object, where: string): ParsedEvent => {
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
