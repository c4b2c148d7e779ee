import type { Cloud } from '../../fencing/model/cloud.ts';
import { diskOf, incarnationsOf, machineOf, readingFor } from './identity.ts';
import type { ComputeClients } from './client.ts';
import { detach, powerOff } from './actions.ts';
import { look } from './look.ts';
import { witness } from './disks.ts';

/** Compute Engine in fencing's words: every project that the credentials reach, for a machine's id names its own. */
export const gcpCloud = (clients: ComputeClients): Cloud => ({
  name: 'gcp',
  look: (machines, scope, signal) => look(clients, machines, scope, signal),
  witness: (machine, disks, signal) => witness(clients, machine, disks, signal),
  detach: (from, disk, _manner, permit, signal) => detach(clients, from, disk, permit, signal),
  powerOff: (target, permit, signal) => powerOff(clients, target, permit, signal),
  machineOf,
  incarnationsOf,
  // Whatever project a machine's path names is asked.
  unservedPlace: () => null,
  diskOf,
  readingFor,
});
