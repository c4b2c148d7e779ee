import type { Cloud } from '../../fencing/model/cloud.ts';
import { diskOf, incarnationsOf, machineOf, readingFor } from './identity.ts';
import type { ComputeClients } from './client.ts';
import { detach, powerOff } from './actions.ts';
import { look } from './look.ts';
import { witness } from './disks.ts';

/**
 * Implements `Cloud` for Compute Engine, in every project that the credentials reach. A machine's id names its project.
 */
export const gcpCloud = (clients: ComputeClients): Cloud => ({
  name: 'gcp',
  look: (machines, scope, signal) => look(clients, machines, scope, signal),
  witness: (machine, disks, signal) => witness(clients, machine, disks, signal),
  detach: (from, disk, _manner, permit, signal) => detach(clients, from, disk, permit, signal),
  powerOff: (target, permit, signal) => powerOff(clients, target, permit, signal),
  machineOf,
  incarnationsOf,
  // Calls go to whatever project the machine's path names.
  unservedPlace: () => null,
  diskOf,
  readingFor,
});
