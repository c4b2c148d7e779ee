import type { Machine } from '../machines.ts';
import { EC2_REGION } from './ec2.ts';
import { secondAt } from './side.ts';

/** The event that a cloud sends about a machine, as it arrives in the queue, or null if it sends none. */
export const eventOf = (machine: Machine, now: number): string | null => {
  const { power } = machine.shown;
  const states = {
    running: 'running',
    off: 'stopped',
    suspended: 'stopped',
    gone: 'terminated',
    stopping: 'stopping',
    starting: 'pending',
    forgotten: null,
  } as const;
  const state = states[power];
  if (state === null) return null;
  return JSON.stringify({
    version: '0',
    id: `event-${machine.serial}-${now}`,
    'detail-type': 'EC2 Instance State-change Notification',
    source: 'aws.ec2',
    account: '123456789012',
    time: secondAt(now).toISOString().replace('.000Z', 'Z'),
    region: EC2_REGION,
    resources: [`arn:aws:ec2:${EC2_REGION}:123456789012:instance/${machine.id}`],
    detail: { 'instance-id': machine.id, state },
  });
};
