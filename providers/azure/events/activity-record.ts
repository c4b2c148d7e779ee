import { z } from 'zod';
import type { Reading } from '../../../fencing/hint.ts';
import { unreadable } from './faults.ts';
import { readingOf } from './envelope.ts';
import { reasonIn } from './operations.ts';
import { about, nothing, type Understood } from './understood.ts';
import { kebab, momentIn, said } from './words.ts';

/**
 * A record of the activity log: as diagnostic settings stream it, in capitals, or as it is listed. Claims and callers are
 * never looked at. https://learn.microsoft.com/azure/azure-monitor/platform/activity-log-schema
 */
const record = z.object({
  operationName: said,
  resourceId: z.string(),
  category: said.nullish(),
  resultType: z.string().nullish(),
  status: said.nullish(),
  eventDataId: z.string().nullish(),
  correlationId: z.string().nullish(),
  time: z.string().nullish(),
  eventTimestamp: z.string().nullish(),
});

type Told = z.infer<typeof record>;

export const isActivityRecord = (raw: object): boolean => 'operationName' in raw && 'resourceId' in raw;

export const readActivityRecord = (raw: object, where: string): Reading => {
  const read = record.safeParse(raw);
  if (!read.success) return unreadable(read.error, where, 'check the record against the schema of the activity log', raw);
  const { eventDataId, correlationId, time, eventTimestamp } = read.data;
  return readingOf(understood(read.data), { eventId: eventDataId ?? correlationId ?? null, time: momentIn(eventTimestamp ?? time) }, where);
};

const understood = ({ operationName, resourceId, category, resultType, status }: Told): Understood => {
  if (/^resourcehealth$/i.test(category ?? '')) return about(resourceId, 'activity-resource-health');
  const reason = reasonIn(operationName);
  const outcome = status ?? resultType;
  return reason === null ? nothing(`a record of ${operationName}`) : about(resourceId, `activity-${reason}${outcome ? `-${kebab(outcome)}` : ''}`);
};
