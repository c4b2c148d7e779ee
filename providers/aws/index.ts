import type { Cloud } from '../../fencing/model/cloud.ts';
import { diskOf, machineOf, unservedScope } from './identity.ts';
import type { Ec2Clients } from './client.ts';
import { detachDisk, powerOffMachine } from './actions.ts';
import { lookAtMachines } from './look.ts';
import { askWitnesses } from './disks.ts';

/** Implements `Cloud` for EC2 and EBS in one account and one region. */
export const awsCloud = ({ clients, region }: { readonly clients: Ec2Clients; readonly region: string }): Cloud => ({
  name: 'aws',
  look: (machines, scope, signal) => lookAtMachines(clients.reads, region, machines, scope, signal),
  sharedLookScope: () => region,
  witness: (machine, disks, signal) => askWitnesses(clients.reads, machine, disks, signal),
  detach: ({ machine }, disk, mode, permit, signal) => detachDisk(clients, { machine, disk, mode }, permit, signal),
  powerOff: ({ machine }, permit, signal) => powerOffMachine(clients, machine, permit, signal),
  machineOf,
  immutableIdsOf: () => [],
  unservedScope: (source) => unservedScope(source, region),
  diskOf,
});
