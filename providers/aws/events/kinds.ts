import { z } from 'zod';
import { minLength } from '../../../fencing/model/foreign-text.ts';
import type { ParsedEvent } from '../../../fencing/model/cloud.ts';
import { ignoredEvent, parsedHints, unreadable } from '../../events/reading.ts';
import { INSTANCE_ID } from '../identity.ts';

/** The content of an event of a known kind: the machines to look at, or a note that it names none. */
export type ParsedDetail =
  | { readonly machines: readonly string[]; readonly because: string; readonly at?: Whereabouts }
  | { readonly machines: null; readonly whyIgnored: string };

/**
 * The location of the machines when the envelope does not give it. Null means that the location in the envelope is
 * right.
 */
interface Whereabouts {
  readonly account: string | null;
  readonly region: string | null;
}

const hint = (machine: string, because: string): ParsedDetail => ({ machines: [machine], because });

const namesNoMachine = (whyIgnored: string): ParsedDetail => ({ machines: null, whyIgnored });

/** Returns epoch ms, or null for a placeholder or a missing time. */
export const parseTime = (time: string | null | undefined): number | null => {
  const moment = Date.parse(time ?? '');
  return Number.isNaN(moment) ? null : moment;
};

export const instanceId = z
  .string()
  .regex(INSTANCE_ID, 'is not an instance id (i- and 8 to 17 lowercase hexadecimal digits)');

const TEST_NOTIFICATION = 'autoscaling:TEST_NOTIFICATION';

/**
 * API calls and service events that CloudTrail records:
 * https://docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-event-reference-record-contents.html
 */

/** Where a call names its instances: in the request or, for a launch, in the response. */
const namedIn: Readonly<Record<string, 'requestParameters' | 'responseElements'>> = {
  StopInstances: 'requestParameters',
  StartInstances: 'requestParameters',
  TerminateInstances: 'requestParameters',
  RebootInstances: 'requestParameters',
  RunInstances: 'responseElements',
};

const instancesSet = z.object({
  instancesSet: z.object({ items: z.array(z.object({ instanceId })).check(minLength(1)) }),
});

const kebab = (name: string): string => name.replace(/\B[A-Z]/g, (letter) => `-${letter}`).toLowerCase();

/**
 * `{"detail":{"eventName":"StopInstances","requestParameters":{"instancesSet":{"items":[{"instanceId":"i-…"}]}}}}` A
 * rejected call may have null for its request and its response, or values that are not instance ids.
 */
const apiCall = z
  .object({
    detail: z.object({
      eventName: z.string(),
      errorCode: z.string().nullish(),
      requestParameters: z.unknown().optional(),
      responseElements: z.unknown().optional(),
    }),
  })
  .transform(({ detail }, context): ParsedDetail => {
    const { eventName, errorCode } = detail;
    const field = Object.hasOwn(namedIn, eventName) ? namedIn[eventName] : undefined;
    if (field === undefined) return namesNoMachine(`a call of ${eventName}`);
    const named = detail[field] ?? null;
    if (named === null) return namesNoMachine(`a call of ${eventName} that names no instance`);
    const set = instancesSet.safeParse(named);
    if (set.success)
      return {
        machines: set.data.instancesSet.items.map((item) => item.instanceId),
        because: `api-call-${kebab(eventName)}`,
      };
    if (errorCode) return namesNoMachine(`a call of ${eventName} that was refused (${errorCode})`);
    context.addIssue({
      code: 'custom',
      path: ['detail', field],
      message: `${eventName} must name its instances in instancesSet.items`,
    });
    return z.NEVER;
  });

/** `{"detail":{"eventName":"BidEvictedEvent","serviceEventDetails":{"instanceIdSet":["i-…"]}}}` */
const serviceEvent = z
  .object({
    detail: z.object({
      eventName: z.string(),
      serviceEventDetails: z.object({ instanceIdSet: z.array(instanceId).default([]) }).nullish(),
    }),
  })
  .transform(({ detail: { eventName, serviceEventDetails } }): ParsedDetail => {
    const machines = serviceEventDetails?.instanceIdSet ?? [];
    return machines.length > 0
      ? { machines, because: `service-event-${kebab(eventName)}` }
      : namesNoMachine(`a service event, ${eventName}, that names no instance`);
  });

/** AWS Health events: https://docs.aws.amazon.com/health/latest/ug/aws-health-events-eventbridge-schema.html */

const ARN = /^arn:[^:]+:ec2:[^:]*:[^:]*:instance\/(.+)$/;

const listOf = <T extends z.ZodType>(one: T) =>
  z
    .array(one)
    .nullish()
    .transform((list) => list ?? []);

/**
 * `{"resources":["i-12345678"],"detail":{"service":"EC2","affectedEntities":[{"entityValue":"i-12345678"}]}}`
 * The envelope names the account and region that received the event, such as an organization's management account or a
 * backup region. The detail names the account and region where it happened.
 */
const health = z
  .object({
    resources: listOf(z.string()),
    detail: z.object({
      service: z.string(),
      affectedEntities: listOf(z.object({ entityValue: z.string().nullish() })),
      affectedAccount: z.string().nullish(),
      eventRegion: z.string().nullish(),
    }),
  })
  .transform(({ resources, detail }): ParsedDetail => {
    const named = [...detail.affectedEntities.map((entity) => entity.entityValue ?? ''), ...resources];
    const machines = [...new Set(named.map((name) => ARN.exec(name)?.[1] ?? name))].filter((name) =>
      INSTANCE_ID.test(name),
    );
    if (machines.length === 0)
      return namesNoMachine(`an AWS Health event about ${detail.service} that names no instance`);
    return {
      machines,
      because: 'health',
      at: { account: detail.affectedAccount || null, region: detail.eventRegion || null },
    };
  });

/** The kinds of EventBridge events that name instances, by detail-type. No event proves that a machine is off. */

/** `{"detail":{"instance-id":"i-abcd1111","state":"stopped"}}`. The letter case of the state varies. */
const stateChange = z
  .object({ detail: z.object({ 'instance-id': instanceId, state: z.string().toLowerCase() }) })
  .transform(({ detail }) => hint(detail['instance-id'], `state-change-${detail.state}`));

/** `{"detail":{"instance-id":"i-0b662ef9931388ba0","instance-action":"terminate"}}`. The ARN has several formats. */
const warning = (because: string) =>
  z
    .object({ detail: z.object({ 'instance-id': instanceId }) })
    .transform(({ detail }) => hint(detail['instance-id'], because));

/** `{"detail":{"EC2InstanceId":"i-0633ac2b0d9769723","LifecycleTransition":"autoscaling:EC2_INSTANCE_TERMINATING"}}` */
const autoScaling = (because: string) =>
  z.union([
    z
      .object({
        detail: z.union([
          z.object({ LifecycleTransition: z.literal(TEST_NOTIFICATION) }),
          z.object({ Event: z.literal(TEST_NOTIFICATION) }),
        ]),
      })
      .transform(() => namesNoMachine('a test notification of Auto Scaling')),
    z
      .object({ detail: z.object({ EC2InstanceId: instanceId }) })
      .transform(({ detail }) => hint(detail.EC2InstanceId, because)),
  ]);

/** Reads an event about a launch, or about a failed termination. It names an instance only if one exists. */
const perhapsOf = (because: string) =>
  z
    .object({ detail: z.object({ EC2InstanceId: z.union([z.literal(''), instanceId]).nullish() }) })
    .transform(({ detail }): ParsedDetail =>
      detail.EC2InstanceId
        ? hint(detail.EC2InstanceId, because)
        : namesNoMachine(`an Auto Scaling event (${because}) that names no instance`),
    );

/**
 * `{"detail":{"instance-id":"i-0c594155dd5ff1829","sub-type":"terminated"}}`. It reports what a fleet requested, not
 * the result.
 */
const ofFleet = (kind: string) =>
  z
    .object({ detail: z.object({ 'instance-id': instanceId, 'sub-type': z.string().toLowerCase() }) })
    .transform(({ detail }) => hint(detail['instance-id'], `${kind}-${detail['sub-type']}`));

const kinds = {
  'EC2 Instance State-change Notification': stateChange,
  'EC2 Spot Instance Interruption Warning': warning('spot-interruption'),
  'EC2 Instance Rebalance Recommendation': warning('rebalance-recommendation'),
  'EC2 Interruptible Capacity Reservation Instance Interruption Warning': warning('capacity-reservation-interruption'),
  'EC2 Instance-terminate Lifecycle Action': autoScaling('terminate-lifecycle-action'),
  'EC2 Instance Terminate Successful': autoScaling('terminate-successful'),
  'EC2 Instance Terminate Unsuccessful': perhapsOf('terminate-unsuccessful'),
  'EC2 Instance-launch Lifecycle Action': perhapsOf('launch-lifecycle-action'),
  'EC2 Instance Launch Successful': perhapsOf('launch-successful'),
  'EC2 Instance Launch Unsuccessful': perhapsOf('launch-unsuccessful'),
  'EC2 Fleet Instance Change': ofFleet('fleet'),
  'EC2 Spot Fleet Instance Change': ofFleet('spot-fleet'),
  'AWS Health Event': health,
  'AWS Health Abuse Event': health,
  'AWS API Call via CloudTrail': apiCall,
  'AWS Service Event via CloudTrail': serviceEvent,
} satisfies Record<string, z.ZodType<ParsedDetail>>;

export const eventKinds: ReadonlyMap<string, z.ZodType<ParsedDetail>> = new Map<string, z.ZodType<ParsedDetail>>(
  Object.entries(kinds),
);

/**
 * A notification that Auto Scaling sends directly to a queue or a topic, without EventBridge.
 * https://docs.aws.amazon.com/autoscaling/ec2/userguide/prepare-for-lifecycle-notifications.html
 */
const notification = z.union([
  z.object({ LifecycleTransition: z.string() }).transform(({ LifecycleTransition }) => LifecycleTransition),
  z.object({ Event: z.string().startsWith('autoscaling:') }).transform(({ Event }) => Event),
]);

const named = z.object({
  EC2InstanceId: z.union([z.literal(''), instanceId]).nullish(),
  AccountId: z.string().nullish(),
  RequestId: z.string().nullish(),
  Time: z.string().nullish(),
});

const wordFor = (transition: string): string =>
  transition
    .replace(/^autoscaling:/, '')
    .replaceAll('_', '-')
    .toLowerCase();

/** Reads such a notification. Returns null for anything else. */
export const readNotification = (raw: object, where: string): ParsedEvent | null => {
  const transition = notification.safeParse(raw);
  if (!transition.success) return null;
  if (transition.data === TEST_NOTIFICATION) return ignoredEvent('a test notification of Auto Scaling', where);
  const about = named.safeParse(raw);
  if (!about.success) return unreadable(about.error, where, 'check the notification against its published shape');
  const { EC2InstanceId, AccountId = null, RequestId = null, Time } = about.data;
  if (!EC2InstanceId)
    return ignoredEvent(`a notification of Auto Scaling (${transition.data}) that names no instance`, where);
  return parsedHints([
    {
      machine: EC2InstanceId,
      because: `auto-scaling-${wordFor(transition.data)}`,
      eventId: RequestId,
      time: parseTime(Time),
      account: AccountId,
      region: null,
      replay: null,
    },
  ]);
};
