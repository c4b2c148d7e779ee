import { z } from 'zod';
import type { Reading } from '../../../fencing/hint.ts';
import { readingOf, unreadable } from './envelope.ts';
import { reasonIn } from './operations.ts';
import { about, nothing, type Understood } from './understood.ts';
import { kebab, momentIn } from './words.ts';

/**
 * Alerts on the activity log, as an action group sends them: in the common schema, in the older one, or its innermost part
 * alone. https://learn.microsoft.com/azure/azure-monitor/alerts/alerts-common-schema
 */

/** Without `authorization.scope` the alert's targets are what it is about. Claims are never looked at. */
const context = z.object({
  operationName: z.string().nullish(),
  eventSource: z.string().nullish(),
  eventDataId: z.string().nullish(),
  eventTimestamp: z.string().nullish(),
  status: z.string().nullish(),
  authorization: z.object({ scope: z.string().nullish() }).nullish(),
  resourceId: z.string().nullish(),
});

const essentials = z.object({ alertTargetIDs: z.array(z.string()).default([]), firedDateTime: z.string().nullish(), alertId: z.string().nullish() });

const common = z
  .object({ schemaId: z.literal('azureMonitorCommonAlertSchema'), data: z.object({ essentials, alertContext: context }) })
  .transform(({ data }) => data);

const older = z
  .object({ schemaId: z.literal('Microsoft.Insights/activityLogs'), data: z.object({ context: z.object({ activityLog: context }) }) })
  .transform(({ data }) => ({ essentials: noEssentials, alertContext: data.context.activityLog }));

const bare = z.object({ alertContext: context }).transform(({ alertContext }) => ({ essentials: noEssentials, alertContext }));

const noEssentials: z.infer<typeof essentials> = { alertTargetIDs: [] };

export const isAlert = (raw: object): boolean => 'schemaId' in raw || 'alertContext' in raw;

export const readAlert = (raw: object, where: string): Reading => {
  const schemaId = 'schemaId' in raw ? raw.schemaId : null;
  const shape = schemaId === null ? bare : schemaId === 'Microsoft.Insights/activityLogs' ? older : common;
  const alert = shape.safeParse(raw);
  if (!alert.success) return unreadable(alert.error, where, raw, 'send the alert in the common alert schema');
  const { essentials: outer, alertContext: inner } = alert.data;
  const origin = { eventId: inner.eventDataId ?? outer.alertId ?? null, time: momentIn(inner.eventTimestamp ?? outer.firedDateTime) };
  return readingOf(understood(inner, outer.alertTargetIDs), origin, where);
};

const understood = (inner: z.infer<typeof context>, targets: readonly string[]): Understood => {
  const { operationName, eventSource, status } = inner;
  const resource = inner.authorization?.scope ?? inner.resourceId;
  const health = /^resourcehealth$/i.test(eventSource ?? '');
  if (health) return { resources: resource ? [resource] : targets, because: 'alert-resource-health' };
  const reason = reasonIn(operationName ?? '');
  if (reason === null) return nothing(`an alert about ${operationName ?? 'something else'}`);
  const because = `alert-${reason}${status ? `-${kebab(status)}` : ''}`;
  return resource ? about(resource, because) : { resources: targets, because };
};
