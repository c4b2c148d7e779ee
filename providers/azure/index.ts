import type { Cloud } from '../../fencing/model/cloud.ts';
import type { MachineId } from '../../fencing/model/machine.ts';
import { diskOf, incarnationsOf, machineOf, machinesNamed, unservedPlace } from './identity.ts';
import type { AzureClients } from './client.ts';
import { detach, powerOff } from './actions.ts';
import { expand, look } from './look.ts';
import { holders, witness } from './disks.ts';

export interface AzureCloud extends Cloud {
  /**
   * Replaces the scale sets among these ids with their machines. An event may name a set, and a reader of events cannot
   * call Azure.
   */
  readonly expand: (machines: readonly MachineId[], signal: AbortSignal) => Promise<readonly MachineId[]>;
}

/** Implements `Cloud` for the machines and disks of one Azure subscription. */
export const azureCloud = (clients: AzureClients): AzureCloud => ({
  name: 'azure',
  look: (machines, scope, signal) => look(clients, machines, scope, signal),
  witness: (machine, disks, signal) => witness(clients, machine, disks, signal),
  holders: (volumes, signal) => holders(clients, volumes, signal),
  detach: (from, disk, manner, permit, signal) => detach(clients, { from, disk, manner }, permit, signal),
  powerOff: (target, permit, signal) => powerOff(clients, target, permit, signal),
  expand: (machines, signal) => expand(clients, machines, signal),
  machineOf,
  incarnationsOf,
  unservedPlace: (source) => unservedPlace(source, clients.subscription),
  diskOf,
  machinesNamed,
});
