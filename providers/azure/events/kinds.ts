import { z } from 'zod';
import { nonEmptyText } from '../../../fencing/model/foreign-text.ts';
import { flexibleSetMember, machinePath, scaleSetPath } from '../identity.ts';

/**
 * The kinds of Event Grid events that name machines, by type, and the handshake with which Event Grid checks that a
 * receiver wants its events. No event proves that a machine is off.
 */

/**
 * An operation that was requested from ARM. Old payloads contain text where newer ones contain objects, except in these
 * fields. https://learn.microsoft.com/azure/event-grid/event-schema-subscriptions
 */
const operation = (outcome: string) =>
  z
    .object({
      subject: z.string().nullish(),
      data: z.object({ operationName: z.string(), resourceUri: z.string().nullish() }),
    })
    .transform(({ subject, data: { operationName, resourceUri } }): ParsedDetail => {
      const reason = reasonIn(operationName);
      const candidates = [resourceUri, subject].map((resource) => (resource ? [resource] : []));
      return reason === null
        ? namesNoMachine(`an operation ${operationName}`)
        : detailOfFirstMachine(candidates, `arm-${reason}${outcome}`);
    });

/** https://learn.microsoft.com/azure/event-grid/event-schema-health-resources */
const health = <Properties extends z.ZodRawShape>(properties: Properties) =>
  z.object({
    subject: z.string().nullish(),
    data: z.object({
      resourceInfo: z.object({ properties: z.object({ targetResourceId: nonEmptyText, ...properties }) }),
    }),
  });

/**
 * A guest that restarts, or that is migrated while it runs, stays up.
 * https://learn.microsoft.com/azure/service-health/resource-health-vm-annotation
 */
const STAYS_UP = /^(?:LiveMigration|PlannedFreeze|VirtualMachineRestarted$|VirtualMachineCrashed$)/i;

const annotated = health({ annotationName: z.string() }).transform(({ data }): ParsedDetail => {
  const { targetResourceId, annotationName } = data.resourceInfo.properties;
  return STAYS_UP.test(annotationName)
    ? namesNoMachine(`an annotation of a machine that keeps running, ${annotationName}`)
    : detailOfResource(targetResourceId, `annotated-${toKebabCase(annotationName)}`);
});

const availability = health({ availabilityState: z.string() }).transform(({ data }): ParsedDetail => {
  const { targetResourceId, availabilityState } = data.resourceInfo.properties;
  return detailOfResource(targetResourceId, `availability-${toKebabCase(availabilityState)}`);
});

/** https://learn.microsoft.com/azure/event-grid/event-schema-resource-notifications-resource-management-events */
const changed = (because: string) =>
  z
    .object({ data: z.object({ resourceInfo: z.object({ id: nonEmptyText }) }) })
    .transform(({ data }) => detailOfResource(data.resourceInfo.id, because));

const HANDSHAKE = 'Microsoft.EventGrid.SubscriptionValidationEvent';

const handshake = z
  .unknown()
  .transform((): ParsedDetail => namesNoMachine('the validation handshake of a subscription'));

const RESOURCES = 'microsoft.resources.resource';
const HEALTH = 'microsoft.resourcenotifications.healthresources.';
const CHANGES = 'microsoft.resourcenotifications.resources.';

const operations = ['write', 'delete', 'action'].flatMap((verb) => [
  [`${RESOURCES}${verb}success`, operation('')] as const,
  [`${RESOURCES}${verb}failure`, operation('-failed')] as const,
  [`${RESOURCES}${verb}cancel`, operation('-cancelled')] as const,
]);

/** Types are in lower case. */
export const eventKinds: ReadonlyMap<string, z.ZodType<ParsedDetail>> = new Map<string, z.ZodType<ParsedDetail>>([
  ...operations,
  [`${HEALTH}resourceannotated`, annotated],
  [`${HEALTH}availabilitystatuschanged`, availability],
  [`${CHANGES}createdorupdated`, changed('resource-updated')],
  [`${CHANGES}deleted`, changed('resource-deleted')],
  [HANDSHAKE.toLowerCase(), handshake],
]);

/**
 * Returns whether a sender sends many kinds of events, most of them not about a machine. Such an event is not a mistake
 * in a person's event subscription.
 */
export const isComputeSender = (type: string): boolean =>
  /^microsoft\.(?:resources|resourcenotifications|eventgrid|compute)\./i.test(type);

/**
 * ARM operations after which a machine may be off, or running again. Detaches, by Cloudfence or by the CSI driver, are
 * also operations, but do not change that.
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

/**
 * Returns `power-off` for `Microsoft.Compute/virtualMachines/powerOffMachine/action`. Returns null for an operation
 * that does not change the power state.
 */
export const reasonIn = (operation: string): string | null => {
  const name = operation.toLowerCase();
  const verb = ON_MACHINES.test(name) ? name.replace(ON_MACHINES, '') : '';
  return TELLING.has(verb) ? toKebabCase(operation.slice(-verb.length).replace(/\/action$/i, '')) : null;
};

/** The subject of an event. A scale set stands for its machines, which only a call to Azure can list. */
interface Subject {
  readonly kind: 'machine' | 'set';
  /**
   * The id of the machine or of the set. For a set, the provider's `expand` replaces it with the ids of its machines.
   */
  readonly id: string;
  readonly subscription: string;
  /** The resource group, in lower case like the other fields. */
  readonly group: string;
}

/**
 * Returns the machine or scale set that an id names. Returns null for anything else, such as a disk or a machine's
 * extension.
 */
export const subjectOf = (resource: string): Subject | null => {
  const machine = machinePath(resource) ?? flexibleSetMember(resource);
  if (machine) return { kind: 'machine', id: machine.id, subscription: machine.subscription, group: machine.group };
  const set = scaleSetPath(resource);
  return set && { kind: 'set', id: set.id, subscription: set.subscription, group: set.group };
};

/** The content of an event: the resources to look at with the reason, or a note that it concerns none. */
export type ParsedDetail =
  | { readonly resources: readonly string[]; readonly because: string }
  | { readonly resources: null; readonly whyIgnored: string };

export const detailOfResource = (resource: string, because: string): ParsedDetail => ({
  resources: [resource],
  because,
});

/**
 * Uses the first of these fields that names a machine or a scale set. An event may name its machines in several fields,
 * and a larger scope in others.
 */
export const detailOfFirstMachine = (candidates: readonly (readonly string[])[], because: string): ParsedDetail => ({
  resources:
    candidates.find((candidate) => candidate.some((resource) => subjectOf(resource) !== null)) ?? candidates.flat(),
  because,
});

export const namesNoMachine = (whyIgnored: string): ParsedDetail => ({ resources: null, whyIgnored });

/** Converts `powerOffMachine` to `power-off`, and `VirtualMachineHostCrashed` to `virtual-machine-host-crashed`. */
export const toKebabCase = (name: string): string =>
  name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1-$2')
    .replaceAll(/[^A-Za-z\d]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .toLowerCase();

/** Returns epoch ms, or null for a placeholder or a missing time. */
export const parseTime = (time: string | null | undefined): number | null => {
  const moment = Date.parse(time ?? '');
  return Number.isNaN(moment) ? null : moment;
};

/** A value of the activity log: alone, or with its translation. */
export const activityLogValue = z.union([z.string(), z.object({ value: z.string() }).transform(({ value }) => value)]);

interface HandshakeRequest {
  readonly method: string;
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The parsed body. */
  readonly body: unknown;
}

interface HandshakeAnswer {
  readonly status: 200;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const code = z.object({ validationCode: nonEmptyText });
/** The validation event in either schema. */
const validation = z.tuple([
  z.union([
    z.object({ eventType: z.literal(HANDSHAKE), data: code }),
    z.object({ type: z.literal(HANDSHAKE), specversion: z.string(), data: code }),
  ]),
]);

/**
 * Event Grid sends a special event or, for CloudEvents, an OPTIONS request:
 * https://learn.microsoft.com/azure/event-grid/end-point-validation-cloud-events-schema
 *
 * Returns the answer to a handshake, or null if the request is not one. The answer allows any origin, because access to
 * the function determines who may send events.
 */
export const handshakeAnswer = ({ method, headers, body }: HandshakeRequest): HandshakeAnswer | null => {
  const asked = headers['webhook-request-origin'];
  if (method === 'OPTIONS' && asked !== undefined)
    return { status: 200, headers: allowed(asked, headers['webhook-request-rate']), body: '' };
  const event = validation.safeParse(Array.isArray(body) ? body : [body]);
  if (method !== 'POST' || !event.success) return null;
  const validationResponse = event.data[0].data.validationCode;
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ validationResponse }) };
};

/** https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md */
const allowed = (origin: string, rate: string | undefined): Record<string, string> => ({
  'webhook-allowed-origin': origin,
  ...(rate !== undefined && { 'webhook-allowed-rate': rate }),
});
