import type { Ec2World, InstanceState } from './state.ts';
import { nextSerial } from './state.ts';

export const announce = (world: Ec2World, instance: string, state: InstanceState): void => {
  const { ec2 } = world.parts;
  ec2.events.push({
    version: '0',
    id: `00000000-0000-4000-a000-${nextSerial(ec2).padStart(12, '0')}`,
    'detail-type': 'EC2 Instance State-change Notification',
    source: 'aws.ec2',
    account: ec2.account,
    time: new Date(world.now()).toISOString().replace(/\.\d+Z$/, 'Z'),
    region: ec2.region,
    resources: [`arn:aws:ec2:${ec2.region}:${ec2.account}:instance/${instance}`],
    detail: { 'instance-id': instance, state },
  });
};
