import type { Cloud } from '../../fencing/model/cloud.ts';
import type { MachineId } from '../../fencing/model/machine.ts';
import { diskOf, immutableIdsOf, machineOf, machinesNamed, unservedScope } from './identity.ts';
import type { AzureClients } from './client.ts';
import { powerOffMachine, createDetach } from './actions.ts';
import { expandScaleSets, lookAtMachines } from './look.ts';
import { readHolders, askWitnesses } from './disks.ts';

export interface AzureCloud extends Cloud {
  /**
   * Replaces the scale sets among these ids with their machines. An event may name a scale set, and a reader of events
   * cannot call Azure.
   */
  readonly expand: (machines: readonly MachineId[], signal: AbortSignal) => Promise<readonly MachineId[]>;
}

/** Implements `Cloud` for the machines and disks of one Azure subscription. */
export const azureCloud = (clients: AzureClients): AzureCloud => {
  const detach = createDetach(clients);
  return {
    name: 'azure',
    look: (machines, scope, signal) => lookAtMachines(clients, machines, scope, signal),
    witness: (machine, disks, signal) => askWitnesses(clients, machine, disks, signal),
    holders: (volumes, signal) => readHolders(clients, volumes, signal),
    detach: (from, disk, mode, permit, signal) => detach({ from, disk, mode }, permit, signal),
    powerOff: (target, permit, signal) => powerOffMachine(clients, target, permit, signal),
    expand: (machines, signal) => expandScaleSets(clients, machines, signal),
    machineOf,
    immutableIdsOf,
    unservedScope: (source) => unservedScope(source, clients.subscription),
    diskOf,
    machinesNamed,
  };
};
