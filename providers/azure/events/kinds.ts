import { z } from 'zod';
import { flexibleMember, machinePath, setPath } from '../identity.ts';
import { HANDSHAKE } from './handshake.ts';

/** The kinds of Event Grid events that name machines, by their type. None of them proves that a machine is off. */

/**
 * An operation that was asked of ARM. Old payloads hold texts where newer ones hold objects, in everything but these.
 * https://learn.microsoft.com/azure/event-grid/event-schema-subscriptions
 */
const operation = (outcome: string) =>
  z
    .object({
      subject: z.string().nullish(),
      data: z.object({ operationName: z.string(), resourceUri: z.string().nullish() }),
    })
    .transform(({ subject, data: { operationName, resourceUri } }): Understood => {
      const reason = reasonIn(operationName);
      const places = [resourceUri, subject].map((resource) => (resource ? [resource] : []));
      return reason === null ? nothing(`an operation ${operationName}`) : aboutFirst(places, `arm-${reason}${outcome}`);
    });

/** https://learn.microsoft.com/azure/event-grid/event-schema-health-resources */
const health = <Properties extends z.ZodRawShape>(properties: Properties) =>
  z.object({
    subject: z.string().nullish(),
    data: z.object({
      resourceInfo: z.object({ properties: z.object({ targetResourceId: z.string().min(1), ...properties }) }),
    }),
  });

/**
 * A guest that restarts, or moves while it runs, is none the less up.
 * https://learn.microsoft.com/azure/service-health/resource-health-vm-annotation
 */
const STAYS_UP = /^(?:LiveMigration|PlannedFreeze|VirtualMachineRestarted$|VirtualMachineCrashed$)/i;

const annotated = health({ annotationName: z.string() }).transform(({ data }): Understood => {
  const { targetResourceId, annotationName } = data.resourceInfo.properties;
  return STAYS_UP.test(annotationName)
    ? nothing(`an annotation of a machine that stays up, ${annotationName}`)
    : about(targetResourceId, `annotated-${kebab(annotationName)}`);
});

const availability = health({ availabilityState: z.string() }).transform(({ data }): Understood => {
  const { targetResourceId, availabilityState } = data.resourceInfo.properties;
  return about(targetResourceId, `availability-${kebab(availabilityState)}`);
});

/** https://learn.microsoft.com/azure/event-grid/event-schema-resource-notifications-resource-management-events */
const changed = (because: string) =>
  z
    .object({ data: z.object({ resourceInfo: z.object({ id: z.string().min(1) }) }) })
    .transform(({ data }) => about(data.resourceInfo.id, because));

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
export const isOurs = (type: string): boolean =>
  /^microsoft\.(?:resources|resourcenotifications|eventgrid|compute)\./i.test(type);

/**
 * Operations of ARM after which a machine may be off, or up again. Our own detaches and those of the disks' driver are
 * operations too, and change nothing about that.
 */
const TELLING: ReadonlySet<string> = new Set([
  'deallocate/action',
  'delete',
  'delete/action',
  'hibernate/action',
  'manualupgrade/action',
  'osrollingupgrade/action',
  'performmaintenance/action',
  'poweroff/action',
  'reapply/action',
  'redeploy/action',
  'reimage/action',
  'reimageall/action',
  'restart/action',
  'simulateeviction/action',
  'start/action',
  'write',
]);

const ON_MACHINES =
  /^microsoft\.compute\/(?:virtualmachinescalesets\/virtualmachines|virtualmachinescalesets|virtualmachines)\//;

/** `Microsoft.Compute/virtualMachines/powerOff/action` is `power-off`; null for an operation that tells nothing. */
export const reasonIn = (operation: string): string | null => {
  const name = operation.toLowerCase();
  const verb = ON_MACHINES.test(name) ? name.replace(ON_MACHINES, '') : '';
  return TELLING.has(verb) ? kebab(operation.slice(-verb.length).replace(/\/action$/i, '')) : null;
};

/** What an event is about. A set stands for machines that only a question to Azure can name. */
interface Subject {
  readonly kind: 'machine' | 'set';
  /** In the place of a machine's id; `expand` of the provider puts the machines in its place. */
  readonly id: string;
  readonly subscription: string;
  /** Of resources; in lower case, as the rest. */
  readonly group: string;
}

/** Null for what is neither a machine nor a scale set, such as a disk, or an extension of a machine. */
export const subjectOf = (resource: string): Subject | null => {
  const machine = machinePath(resource) ?? flexibleMember(resource);
  if (machine) return { kind: 'machine', id: machine.id, subscription: machine.subscription, group: machine.group };
  const set = setPath(resource);
  return set && { kind: 'set', id: set.id, subscription: set.subscription, group: set.group };
};

/** What the inside of an event says: resources to look at and why, or that it is about none. */
export type Understood =
  | { readonly resources: readonly string[]; readonly because: string }
  | { readonly resources: null; readonly aside: string };

export const about = (resource: string, because: string): Understood => ({ resources: [resource], because });

/**
 * An event may name its machines in several places, and something wider in others: the first place that names any is
 * meant.
 */
export const aboutFirst = (places: readonly (readonly string[])[], because: string): Understood => ({
  resources: places.find((place) => place.some((resource) => subjectOf(resource) !== null)) ?? places.flat(),
  because,
});

export const nothing = (aside: string): Understood => ({ resources: null, aside });

/** `powerOff` is `power-off`, `VirtualMachineHostCrashed` is `virtual-machine-host-crashed`. */
export const kebab = (name: string): string =>
  name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1-$2')
    .replaceAll(/[^A-Za-z\d]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .toLowerCase();

/** Epoch ms, or null for a placeholder or nothing at all. */
export const momentIn = (time: string | null | undefined): number | null => {
  const moment = Date.parse(time ?? '');
  return Number.isNaN(moment) ? null : moment;
};

/** A word of the activity log: alone, or with its translation beside it. */
export const said = z.union([z.string(), z.object({ value: z.string() }).transform(({ value }) => value)]);
