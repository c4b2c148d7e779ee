import type { Cloud } from '../../fencing/cloud.ts';
import { incarnationsOf, machineOf } from './carriers.ts';
import type { ComputeClients } from './client.ts';
import { detach } from './detach.ts';
import { diskOf, readingFor } from './disks.ts';
import { look } from './look.ts';
import { powerOff } from './power-off.ts';
import { witness } from './witness.ts';

export type { ClientOptions, ComputeClients } from './client.ts';
export { computeClients } from './client.ts';
export { credentialsFound } from './credentials-found.ts';
export { missingOnDisk, missingOnMachine } from './held-permissions.ts';

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
