import { z } from 'zod';
import { INSTANCE_ID } from '../ids.ts';

/** The kinds of EventBridge events that name instances, by their detail-type. None of them proves that a machine is off. */

export type Understood =
  | { readonly machines: readonly string[]; readonly because: string }
  | { readonly machines: null; readonly aside: string };

const instanceId = z.string().regex(INSTANCE_ID, 'is no instance id (i- and 8 to 17 lower-case hexadecimal digits)');

const hint = (machine: string, because: string): Understood => ({ machines: [machine], because });
const nothing = (aside: string): Understood => ({ machines: null, aside });

/** `{"detail":{"instance-id":"i-abcd1111","state":"stopped"}}`; the letter case of the state varies. */
const stateChange = z
  .object({ detail: z.object({ 'instance-id': instanceId, state: z.string().toLowerCase() }) })
  .transform(({ detail }) => hint(detail['instance-id'], `state-change-${detail.state}`));

/** `{"detail":{"instance-id":"i-0b662ef9931388ba0","instance-action":"terminate"}}`; its ARN comes in several shapes. */
const warning = (because: string) =>
  z.object({ detail: z.object({ 'instance-id': instanceId }) }).transform(({ detail }) => hint(detail['instance-id'], because));

export const TEST_NOTIFICATION = 'autoscaling:TEST_NOTIFICATION';

/** `{"detail":{"EC2InstanceId":"i-0633ac2b0d9769723","LifecycleTransition":"autoscaling:EC2_INSTANCE_TERMINATING"}}` */
const autoScaling = (because: string) =>
  z.union([
    z
      .object({ detail: z.union([z.object({ LifecycleTransition: z.literal(TEST_NOTIFICATION) }), z.object({ Event: z.literal(TEST_NOTIFICATION) })]) })
      .transform(() => nothing('a test notification of Auto Scaling')),
    z.object({ detail: z.object({ EC2InstanceId: instanceId }) }).transform(({ detail }) => hint(detail.EC2InstanceId, because)),
  ]);

/** `{"resources":["i-12345678"],"detail":{"service":"EC2","affectedEntities":[{"entityValue":"i-12345678"}]}}` */
const health = z
  .object({
    resources: z.array(z.string()).default([]),
    detail: z.object({ service: z.string(), affectedEntities: z.array(z.object({ entityValue: z.string() })).default([]) }),
  })
  .transform(({ resources, detail }): Understood => {
    const named = [...detail.affectedEntities.map((entity) => entity.entityValue), ...resources];
    const machines = [...new Set(named.map((name) => ARN.exec(name)?.[1] ?? name))].filter((name) => INSTANCE_ID.test(name));
    return machines.length > 0 ? { machines, because: 'health' } : nothing(`an AWS Health event about ${detail.service} that names no instance`);
  });

const ARN = /^arn:[^:]+:ec2:[^:]*:[^:]*:instance\/(.+)$/;

const instancesSet = z.object({ instancesSet: z.object({ items: z.array(z.object({ instanceId })).min(1) }) });

const namesOfSet = (set: z.infer<typeof instancesSet>): readonly string[] => set.instancesSet.items.map((item) => item.instanceId);

/** `{"detail":{"eventName":"StopInstances","requestParameters":{"instancesSet":{"items":[{"instanceId":"i-…"}]}}}}` */
const instanceCall = z
  .object({
    detail: z.object({
      eventName: z.enum(['StopInstances', 'StartInstances', 'TerminateInstances', 'RebootInstances']),
      requestParameters: instancesSet,
    }),
  })
  .transform(({ detail }): Understood => ({ machines: namesOfSet(detail.requestParameters), because: `api-call-${kebab(detail.eventName)}` }));

/** A launch names its instances in the answer, and none when it failed. */
const launchCall = z
  .object({ detail: z.object({ eventName: z.literal('RunInstances'), responseElements: instancesSet.nullish() }) })
  .transform(({ detail }): Understood =>
    detail.responseElements
      ? { machines: namesOfSet(detail.responseElements), because: 'api-call-run-instances' }
      : nothing('a RunInstances call that launched nothing'),
  );

const kebab = (name: string): string => name.replace(/\B[A-Z]/g, (letter) => `-${letter}`).toLowerCase();

const kinds = {
  'EC2 Instance State-change Notification': stateChange,
  'EC2 Spot Instance Interruption Warning': warning('spot-interruption'),
  'EC2 Instance Rebalance Recommendation': warning('rebalance-recommendation'),
  'EC2 Interruptible Capacity Reservation Instance Interruption Warning': warning('capacity-reservation-interruption'),
  'EC2 Instance-terminate Lifecycle Action': autoScaling('terminate-lifecycle-action'),
  'EC2 Instance Terminate Successful': autoScaling('terminate-successful'),
  'AWS Health Event': health,
  'AWS API Call via CloudTrail': z.union([instanceCall, launchCall]),
} satisfies Record<string, z.ZodType<Understood>>;

export const knownKinds: ReadonlyMap<string, z.ZodType<Understood>> = new Map<string, z.ZodType<Understood>>(Object.entries(kinds));
