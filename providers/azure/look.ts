import type { Disk, VirtualMachineScaleSetVM } from '@azure/arm-compute';
import pLimit from 'p-limit';
import type { DiskId, MachineFacts, MachineId } from '../../fencing/model/machine.ts';
import { bounded } from '../../transport/pages.ts';
import type { AzureClients } from './client.ts';
import { diskById } from './disks.ts';
import { declinedWith, withCloudfenceErrors } from './errors.ts';
import { machineBeside, machinePath, type MachinePath, setPath, type SetPath } from './identity.ts';
import { findVm, type Found, saysSetIsGone, type Vm } from './machines.ts';
import { missingFacts, seenFacts, unknownFacts } from './power.ts';

/** ARM has no read of many by id. Far below its limits for reads of one caller, and quick enough for a sweep. */
const AT_ONCE = 10;

interface Scope {
  readonly disks: boolean;
}

/** @throws Unavailable, Denied, Refused: a look answers for all machines or for none. */
export const look = async (
  clients: AzureClients,
  machines: readonly MachineId[],
  scope: Scope,
  signal: AbortSignal,
): Promise<readonly MachineFacts[]> => {
  const limit = pLimit(AT_ONCE);
  return Promise.all([...new Set(machines)].map((machine) => limit(() => lookAt(clients, machine, scope, signal))));
};

const lookAt = async (
  clients: AzureClients,
  machine: MachineId,
  scope: Scope,
  signal: AbortSignal,
): Promise<MachineFacts> => {
  const path = machinePath(machine);
  if (!path) return unknownFacts(machine, 'no machine by its id');
  if (path.subscription !== clients.subscription.toLowerCase()) return unknownFacts(machine, 'of another subscription');
  const [said, expected] = await Promise.all([sayOf(clients, path, signal), expectedOsDisk(clients, machine, signal)]);
  if (said.is !== 'seen') return (said.is === 'gone' ? missingFacts : unknownFacts)(machine, said.code);
  const [osDisk, dataDisks] = await Promise.all([
    osDiskOf(clients, machine, said.vm, expected, signal),
    scope.disks ? dataDisksOf(clients, said.vm, signal) : null,
  ]);
  return seenFacts({ ...said, machine, osDisk, dataDisks });
};

interface Expected {
  readonly id: DiskId;
  readonly disk: Disk | null;
}

/**
 * Where its OS disk was last it is read together with the machine: one wait less, and the proof is the younger for it.
 */
const expectedOsDisk = async (
  clients: AzureClients,
  machine: MachineId,
  signal: AbortSignal,
): Promise<Expected | null> => {
  const id = clients.osDisks.get(machine);
  return id === undefined ? null : { id, disk: await diskById(clients, id, signal) };
};

/** What was expected counts only where the machine names that very disk now. */
const osDiskOf = async (
  clients: AzureClients,
  machine: MachineId,
  vm: Vm,
  expected: Expected | null,
  signal: AbortSignal,
): Promise<Disk | null> => {
  const id = vm.storageProfile?.osDisk?.managedDisk?.id?.toLowerCase();
  if (id === undefined) return null;
  clients.osDisks.set(machine, id);
  return expected?.id === id ? expected.disk : diskById(clients, id, signal);
};

/** What ARM says of it, and under which id it can be asked about the answer. */
const sayOf = async (
  clients: AzureClients,
  path: MachinePath,
  signal: AbortSignal,
): Promise<Found & { readonly requestId: string }> => {
  let requestId = '';
  const onAnswer = ({ headers }: { readonly headers: { readonly get: (name: string) => string | undefined } }) => {
    requestId = headers.get('x-ms-request-id') ?? '';
  };
  const found = await findVm(clients, path, { signal, withView: true, onAnswer });
  return { ...found, requestId };
};

/** What each of its data disks says itself; null for one that does not exist. */
const dataDisksOf = async (
  clients: AzureClients,
  vm: Vm,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Disk | null>> => {
  const ids = (vm.storageProfile?.dataDisks ?? []).flatMap(({ managedDisk }) => managedDisk?.id?.toLowerCase() ?? []);
  return new Map(await Promise.all(ids.map(async (id) => [id, await diskById(clients, id, signal)] as const)));
};

/**
 * What is to be looked at when something happened to a whole scale set: its machines, in the place of the set; none
 * when it is gone. Everything else is given back as it came, sets of other subscriptions too: who asked can tell that
 * they are not ours.
 *
 * @throws Unavailable, Denied, Refused
 */
export const expand = async (
  clients: AzureClients,
  machines: readonly MachineId[],
  signal: AbortSignal,
): Promise<readonly MachineId[]> => {
  const expanded: MachineId[] = [];
  for (const machine of machines) {
    const set = setPath(machine);
    const isOurs = set?.subscription === clients.subscription.toLowerCase();
    expanded.push(...(set && isOurs ? await machinesOf(clients, set, signal) : [machine]));
  }
  return [...new Set(expanded)];
};

/**
 * A scale set has a thousand machines at the most.
 * https://learn.microsoft.com/azure/virtual-machine-scale-sets/overview
 */
const MOST_PAGES = 100;

const machinesOf = (clients: AzureClients, set: SetPath, signal: AbortSignal): Promise<readonly MachineId[]> =>
  withCloudfenceErrors('virtualMachineScaleSets/virtualMachines/read', async () => {
    const found: MachineId[] = [];
    try {
      const listed = clients.reads.virtualMachineScaleSetVMs.list(set.group, set.set, { abortSignal: signal }).byPage();
      for await (const page of bounded(listed, MOST_PAGES, 'the list of a scale set'))
        found.push(...page.flatMap((member) => memberId(set, member)));
    } catch (caught) {
      if (!saysSetIsGone(declinedWith(caught))) throw caught;
    }
    return found;
  });

const NUMBER = /^\d*$/;

/**
 * A member of a flexible set is a virtual machine of its own, and may be listed under its name alone: a name may end
 * like a number.
 */
export const memberId = (
  set: SetPath,
  { id, instanceId = '', virtualMachineResourceId }: VirtualMachineScaleSetVM,
): readonly MachineId[] => {
  const alone = machinePath(virtualMachineResourceId ?? '');
  if (alone) return [alone.id];
  if (!NUMBER.test(instanceId)) return [machineBeside(set, instanceId)];
  const path = machinePath(id ?? '');
  return path ? [path.id] : [];
};
