import type { Cloud } from '../../fencing/cloud.ts';
import { machineOf, unservedPlace } from './carriers.ts';
import type { Ec2Clients } from './client.ts';
import { detach } from './detach.ts';
import { diskOf } from './disks.ts';
import { look } from './look.ts';
import { powerOff } from './power-off.ts';
import { witness } from './witness.ts';

export type { ClientOptions, Ec2Clients } from './client.ts';
export { ec2Clients } from './client.ts';
export { missingTags } from './missing-tags.ts';
export type { TagRule, WantedTag } from './missing-tags.ts';
export { probeReads, targetsAmong, tryOrder } from './probe.ts';
export type { Order, OrderTarget, TriedOrder } from './probe.ts';

/** EC2 and EBS of one account in one region, in fencing's words. */
export const awsCloud = ({ clients, region }: { readonly clients: Ec2Clients; readonly region: string }): Cloud => ({
  name: 'aws',
  look: (machines, scope, signal) => look(clients.reads, region, machines, scope, signal),
  witness: (machine, disks, signal) => witness(clients.reads, machine, disks, signal),
  detach: ({ machine }, disk, manner, permit, signal) => detach(clients, { machine, disk, manner }, permit, signal),
  powerOff: ({ machine }, permit, signal) => powerOff(clients, machine, permit, signal),
  machineOf,
  incarnationsOf: () => [],
  unservedPlace: (carrier) => unservedPlace(carrier, region),
  diskOf,
});
