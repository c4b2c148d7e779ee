import { z } from 'zod';
import type { Reading } from '../../../fencing/hint.ts';
import { aside, hinted } from '../../events/reading.ts';
import { unreadable } from './faults.ts';
import { instanceId } from './instance-id.ts';
import { momentOf } from './moment.ts';
import { TEST_NOTIFICATION } from './test-notification.ts';

/**
 * What Auto Scaling sends to a queue or a topic by itself, without EventBridge around it.
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

const wordFor = (transition: string): string => transition.replace(/^autoscaling:/, '').replaceAll('_', '-').toLowerCase();

/** Null when it is no such notification. */
export const readNotification = (raw: object, where: string): Reading | null => {
  const transition = notification.safeParse(raw);
  if (!transition.success) return null;
  if (transition.data === TEST_NOTIFICATION) return aside('a test notification of Auto Scaling', where);
  const about = named.safeParse(raw);
  if (!about.success) return unreadable(about.error, where, 'check the notification against its published shape', raw);
  const { EC2InstanceId, AccountId = null, RequestId = null, Time } = about.data;
  if (!EC2InstanceId) return aside(`a notification of Auto Scaling (${transition.data}) that names no instance`, where);
  return hinted([
    { machine: EC2InstanceId, because: `auto-scaling-${wordFor(transition.data)}`, eventId: RequestId, time: momentOf(Time), account: AccountId, region: null, replay: null },
  ]);
};
