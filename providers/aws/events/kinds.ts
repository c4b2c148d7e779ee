import { z } from 'zod';
import { apiCall, serviceEvent } from './cloudtrail.ts';
import { health } from './health.ts';
import { instanceId } from './instance-id.ts';
import { TEST_NOTIFICATION } from './test-notification.ts';
import type { Understood } from './understood.ts';
import { hint, nothing } from './understood.ts';

/** The kinds of EventBridge events that name instances, by their detail-type. None of them proves that a machine is off. */

/** `{"detail":{"instance-id":"i-abcd1111","state":"stopped"}}`; the letter case of the state varies. */
const stateChange = z
  .object({ detail: z.object({ 'instance-id': instanceId, state: z.string().toLowerCase() }) })
  .transform(({ detail }) => hint(detail['instance-id'], `state-change-${detail.state}`));

/** `{"detail":{"instance-id":"i-0b662ef9931388ba0","instance-action":"terminate"}}`; its ARN comes in several shapes. */
const warning = (because: string) =>
  z.object({ detail: z.object({ 'instance-id': instanceId }) }).transform(({ detail }) => hint(detail['instance-id'], because));

/** `{"detail":{"EC2InstanceId":"i-0633ac2b0d9769723","LifecycleTransition":"autoscaling:EC2_INSTANCE_TERMINATING"}}` */
const autoScaling = (because: string) =>
  z.union([
    z
      .object({ detail: z.union([z.object({ LifecycleTransition: z.literal(TEST_NOTIFICATION) }), z.object({ Event: z.literal(TEST_NOTIFICATION) })]) })
      .transform(() => nothing('a test notification of Auto Scaling')),
    z.object({ detail: z.object({ EC2InstanceId: instanceId }) }).transform(({ detail }) => hint(detail.EC2InstanceId, because)),
  ]);

/** News of a launch, or of an end that failed: an instance is named only once there is one. */
const perhapsOf = (because: string) =>
  z
    .object({ detail: z.object({ EC2InstanceId: z.union([z.literal(''), instanceId]).nullish() }) })
    .transform(({ detail }): Understood => (detail.EC2InstanceId ? hint(detail.EC2InstanceId, because) : nothing(`an Auto Scaling event (${because}) that names no instance`)));

/** `{"detail":{"instance-id":"i-0c594155dd5ff1829","sub-type":"terminated"}}`; what a fleet ordered, not what has come of it. */
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
} satisfies Record<string, z.ZodType<Understood>>;

export const knownKinds: ReadonlyMap<string, z.ZodType<Understood>> = new Map<string, z.ZodType<Understood>>(Object.entries(kinds));
