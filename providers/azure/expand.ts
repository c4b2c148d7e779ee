import type { VirtualMachineScaleSetVM } from '@azure/arm-compute';
import type { MachineId } from '../../fencing/machine.ts';
import type { AzureClients } from './client.ts';
import { codeOf, translated } from './errors.ts';
import { machineBeside, machinePath, setPath, type SetPath } from './ids.ts';

/**
 * What is to be looked at when something happened to a whole scale set: its machines, in the place of the set. Everything
 * else is given back as it came; a set that is gone, or of another subscription, has none.
 *
 * @throws Unavailable, Denied, Refused
 */
export const expand = async (clients: AzureClients, machines: readonly MachineId[], signal: AbortSignal): Promise<readonly MachineId[]> => {
  const expanded: MachineId[] = [];
  for (const machine of machines) {
    const set = setPath(machine);
    expanded.push(...(set ? await machinesOf(clients, set, signal) : [machine]));
  }
  return [...new Set(expanded)];
};

const machinesOf = (clients: AzureClients, set: SetPath, signal: AbortSignal): Promise<readonly MachineId[]> =>
  translated('virtualMachineScaleSets/virtualMachines/read', async () => {
    if (set.subscription !== clients.subscription.toLowerCase()) return [];
    const found: MachineId[] = [];
    try {
      for await (const member of clients.reads.virtualMachineScaleSetVMs.list(set.group, set.set, { abortSignal: signal })) found.push(...memberId(set, member));
    } catch (caught) {
      if (codeOf(caught) !== 'ResourceNotFound') throw caught;
    }
    return found;
  });

/** A member of a flexible set is a virtual machine of its own, and may be listed under its name alone. */
export const memberId = (set: SetPath, { id, instanceId, virtualMachineResourceId }: VirtualMachineScaleSetVM): readonly MachineId[] => {
  const path = machinePath(virtualMachineResourceId ?? id ?? '');
  if (path) return [path.id];
  return instanceId === undefined || instanceId === '' ? [] : [machineBeside(set, instanceId)];
};
