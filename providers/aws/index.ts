import type { Cloud } from '../../fencing/model/cloud.ts';
import { diskOf, machineOf, unservedPlace } from './identity.ts';
import type { Ec2Clients } from './client.ts';
import { detach, powerOff } from './actions.ts';
import { look } from './look.ts';
import { witness } from './disks.ts';

/** Implements `Cloud` for EC2 and EBS in one account and one region. */
export const awsCloud = ({ clients, region }: { readonly clients: Ec2Clients; readonly region: string }): Cloud => ({
  name: 'aws',
  look: (machines, scope, signal) => look(clients.reads, region, machines, scope, signal),
  witness: (machine, disks, signal) => witness(clients.reads, machine, disks, signal),
  detach: ({ machine }, disk, manner, permit, signal) => detach(clients, { machine, disk, manner }, permit, signal),
  powerOff: ({ machine }, permit, signal) => powerOff(clients, machine, permit, signal),
  machineOf,
  incarnationsOf: () => [],
  unservedPlace: (source) => unservedPlace(source, region),
  diskOf,
});
