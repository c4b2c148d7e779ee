import { z } from 'zod';
import { HANDSHAKE } from './handshake.ts';
import { reasonIn } from './operations.ts';
import { about, aboutFirst, nothing, type Understood } from './understood.ts';
import { kebab } from './words.ts';

/** The kinds of Event Grid events that name machines, by their type. None of them proves that a machine is off. */

export interface Inside {
  readonly subject: string;
  readonly data: unknown;
}

/**
 * An operation that was asked of ARM. Old payloads hold texts where newer ones hold objects, in everything but these.
 * https://learn.microsoft.com/azure/event-grid/event-schema-subscriptions
 */
const operation = (outcome: string) =>
  z
    .object({ subject: z.string().nullish(), data: z.object({ operationName: z.string(), resourceUri: z.string().nullish() }) })
    .transform(({ subject, data: { operationName, resourceUri } }): Understood => {
      const reason = reasonIn(operationName);
      const places = [resourceUri, subject].map((resource) => (resource ? [resource] : []));
      return reason === null ? nothing(`an operation ${operationName}`) : aboutFirst(places, `arm-${reason}${outcome}`);
    });

/** https://learn.microsoft.com/azure/event-grid/event-schema-health-resources */
const health = <Properties extends z.ZodRawShape>(properties: Properties) =>
  z.object({
    subject: z.string().nullish(),
    data: z.object({ resourceInfo: z.object({ properties: z.object({ targetResourceId: z.string().min(1), ...properties }) }) }),
  });

/** A guest that restarts, or moves while it runs, is none the less up. https://learn.microsoft.com/azure/service-health/resource-health-vm-annotation */
const STAYS_UP = /^(?:LiveMigration|PlannedFreeze|VirtualMachineRestarted$|VirtualMachineCrashed$)/i;

const annotated = health({ annotationName: z.string() }).transform(({ data }): Understood => {
  const { targetResourceId, annotationName } = data.resourceInfo.properties;
  return STAYS_UP.test(annotationName) ? nothing(`an annotation of a machine that stays up, ${annotationName}`) : about(targetResourceId, `annotated-${kebab(annotationName)}`);
});

const availability = health({ availabilityState: z.string() }).transform(({ data }): Understood => {
  const { targetResourceId, availabilityState } = data.resourceInfo.properties;
  return about(targetResourceId, `availability-${kebab(availabilityState)}`);
});

/** https://learn.microsoft.com/azure/event-grid/event-schema-resource-notifications-resource-management-events */
const changed = (because: string) =>
  z.object({ data: z.object({ resourceInfo: z.object({ id: z.string().min(1) }) }) }).transform(({ data }) => about(data.resourceInfo.id, because));

const handshake = z.unknown().transform((): Understood => nothing('the handshake of a subscription'));

const RESOURCES = 'microsoft.resources.resource';
const HEALTH = 'microsoft.resourcenotifications.healthresources.';
const CHANGES = 'microsoft.resourcenotifications.resources.';

const operations = ['write', 'delete', 'action'].flatMap((verb) => [
  [`${RESOURCES}${verb}success`, operation('')] as const,
  [`${RESOURCES}${verb}failure`, operation('-failed')] as const,
  [`${RESOURCES}${verb}cancel`, operation('-cancelled')] as const,
]);

/** Types in lower case. */
export const knownKinds: ReadonlyMap<string, z.ZodType<Understood>> = new Map<string, z.ZodType<Understood>>([
  ...operations,
  [`${HEALTH}resourceannotated`, annotated],
  [`${HEALTH}availabilitystatuschanged`, availability],
  [`${CHANGES}createdorupdated`, changed('resource-updated')],
  [`${CHANGES}deleted`, changed('resource-deleted')],
  [HANDSHAKE.toLowerCase(), handshake],
]);

/** These senders tell much that is about no machine: none of that is a mistake of whoever made the subscription. */
export const isOurs = (type: string): boolean => /^microsoft\.(?:resources|resourcenotifications|eventgrid|compute)\./i.test(type);
