import type { VirtualMachineScaleSetVM } from '@azure/arm-compute';
import type { MachineId } from '../../fencing/machine.ts';
import { bounded } from '../../fencing/paged.ts';
import type { AzureClients } from './client.ts';
import { declinedWith, translated } from './errors.ts';
import { saysSetIsGone } from './gone.ts';
import { machineBeside, machinePath, setPath, type SetPath } from './ids.ts';

/**
 * What is to be looked at when something happened to a whole scale set: its machines, in the place of the set; none when it is
 * gone. Everything else is given back as it came, sets of other subscriptions too: who asked can tell that they are not ours.
 *
 * @throws Unavailable, Denied, Refused
 */
export const expand = async (clients: AzureClients, machines: readonly MachineId[], signal: AbortSignal): Promise<readonly MachineId[]> => {
  const expanded: MachineId[] = [];
  for (const machine of machines) {
    const set = setPath(machine);
    const isOurs = set?.subscription === clients.subscription.toLowerCase();
    expanded.push(...(set && isOurs ? await machinesOf(clients, set, signal) : [machine]));
  }
  return [...new Set(expanded)];
};

/** A scale set has a thousand machines at the most. https://learn.microsoft.com/azure/virtual-machine-scale-sets/overview */
const MOST_PAGES = 100;

const machinesOf = (clients: AzureClients, set: SetPath, signal: AbortSignal): Promise<readonly MachineId[]> =>
  translated('virtualMachineScaleSets/virtualMachines/read', async () => {
    const found: MachineId[] = [];
    try {
      const listed = clients.reads.virtualMachineScaleSetVMs.list(set.group, set.set, { abortSignal: signal }).byPage();
      for await (const page of bounded(listed, MOST_PAGES, 'the list of a scale set')) found.push(...page.flatMap((member) => memberId(set, member)));
    } catch (caught) {
      if (!saysSetIsGone(declinedWith(caught))) throw caught;
    }
    return found;
  });

const NUMBER = /^\d*$/;

/** A member of a flexible set is a virtual machine of its own, and may be listed under its name alone: a name may end like a number. */
export const memberId = (set: SetPath, { id, instanceId = '', virtualMachineResourceId }: VirtualMachineScaleSetVM): readonly MachineId[] => {
  const alone = machinePath(virtualMachineResourceId ?? '');
  if (alone) return [alone.id];
  if (!NUMBER.test(instanceId)) return [machineBeside(set, instanceId)];
  const path = machinePath(id ?? '');
  return path ? [path.id] : [];
};
