import type { Cloud } from '../../fencing/model/cloud.ts';
import { diskOf, immutableIdsOf, machineOf, identityRulesFor } from './identity.ts';
import type { ComputeClients } from './client.ts';
import { detachDisk, powerOffMachine } from './actions.ts';
import { lookAtMachines } from './look.ts';
import { askWitnesses } from './disks.ts';

/**
 * Implements `Cloud` for Compute Engine, in every project that the credentials can access. A machine's id contains its
 * project.
 */
export const gcpCloud = (clients: ComputeClients): Cloud => ({
  name: 'gcp',
  look: (machines, scope, signal) => lookAtMachines(clients, machines, scope, signal),
  witness: (machine, disks, signal) => askWitnesses(clients, machine, disks, signal),
  detach: (from, disk, _mode, permit, signal) => detachDisk(clients, from, disk, permit, signal),
  powerOff: (target, permit, signal) => powerOffMachine(clients, target, permit, signal),
  machineOf,
  immutableIdsOf,
  // Calls go to the project in the machine's path.
  unservedScope: () => null,
  diskOf,
  identityRulesFor,
});
