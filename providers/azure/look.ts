import type { Disk, VirtualMachineScaleSetVM } from '@azure/arm-compute';
import type { DiskId, MachineFacts, MachineId } from '../../fencing/model/machine.ts';
import { limitPages } from '../../transport/answers.ts';
import { readUnlessDenied } from '../denied-disk.ts';
import { lookAtEach } from '../each-machine.ts';
import type { AzureClients } from './client.ts';
import { type DataDiskReads, readDisk } from './disks.ts';
import { declinedWith, withCloudfenceErrors } from './errors.ts';
import { machineInSameGroup, machinePath, type MachinePath, scaleSetPath, type ScaleSetPath } from './identity.ts';
import { findVm, type VmLookup, saysSetIsGone, type Vm } from './machines.ts';
import { missingMachineFacts, knownMachineFacts, unknownMachineFacts } from './power.ts';

/** Reads machines for a look, each with its OS disk, whose handover distinguishes boots. */

interface Scope {
  readonly disks: boolean;
}

/**
 * Reads the facts of the machines. ARM cannot read several machines by id in one call. Leaves out machines whose read
 * failed.
 *
 * @throws Unavailable, PermissionDenied, Refused, if every read failed
 */
export const lookAtMachines = async (
  clients: AzureClients,
  machines: readonly MachineId[],
  scope: Scope,
  signal: AbortSignal,
): Promise<readonly MachineFacts[]> => lookAtEach(machines, (machine) => lookAt(clients, machine, scope, signal));

const lookAt = async (
  clients: AzureClients,
  machine: MachineId,
  scope: Scope,
  signal: AbortSignal,
): Promise<MachineFacts> => {
  const path = machinePath(machine);
  if (!path) return unknownMachineFacts(machine, 'not the id of a machine');
  if (path.subscription !== clients.subscription.toLowerCase())
    return unknownMachineFacts(machine, 'in another subscription');
  const ahead = readOsDiskAhead(clients, machine, signal);
  const lookup = await readMachine(clients, path, signal);
  if (lookup.is !== 'seen')
    return (lookup.is === 'gone' ? missingMachineFacts : unknownMachineFacts)(machine, lookup.code);
  const [osDisk, dataDisks] = await Promise.all([
    osDiskOf(clients, machine, lookup.vm, ahead, signal),
    scope.disks ? dataDisksOf(clients, lookup.vm, signal) : null,
  ]);
  return knownMachineFacts({ ...lookup, machine, osDisk, dataDisks });
};

/** A read of the OS disk that the machine had when Cloudfence last looked. */
interface ReadAhead {
  readonly id: DiskId;
  readonly answer: Promise<readonly [PromiseSettledResult<Disk | null>]>;
}

/**
 * Begins to read the machine's last known OS disk concurrently with the machine. This saves one wait, so the proof is
 * younger. The machine may have another OS disk by now. So the look neither waits for this read nor fails with it
 * before the machine still names that disk.
 */
const readOsDiskAhead = (clients: AzureClients, machine: MachineId, signal: AbortSignal): ReadAhead | null => {
  const id = clients.osDisks.get(machine);
  return id === undefined ? null : { id, answer: Promise.allSettled([readDisk(clients, id, signal)]) };
};

/** Returns the OS disk. The disk that was read ahead is used only if the machine still names that disk. */
const osDiskOf = async (
  clients: AzureClients,
  machine: MachineId,
  vm: Vm,
  ahead: ReadAhead | null,
  signal: AbortSignal,
): Promise<Disk | null> => {
  const id = vm.storageProfile?.osDisk?.managedDisk?.id?.toLowerCase();
  if (id === undefined) return null;
  clients.osDisks.set(machine, id);
  if (ahead?.id !== id) return readDisk(clients, id, signal);
  const [answer] = await ahead.answer;
  if (answer.status === 'rejected') throw answer.reason;
  return answer.value;
};

/** Returns ARM's answer about the machine, and the request ID for support requests about the answer. */
const readMachine = async (
  clients: AzureClients,
  path: MachinePath,
  signal: AbortSignal,
): Promise<VmLookup & { readonly requestId: string }> => {
  let requestId = '';
  const onAnswer = ({ headers }: { readonly headers: { readonly get: (name: string) => string | undefined } }) => {
    requestId = headers.get('x-ms-request-id') ?? '';
  };
  const found = await findVm(clients, path, { signal, withPowerState: true, onAnswer });
  return { ...found, requestId };
};

/**
 * Returns what each of the machine's data disks says about itself: null for a disk that does not exist, and the error
 * for one that Cloudfence may not read. No proof needs a data disk, so a denied one does not stop the look.
 */
const dataDisksOf = async (clients: AzureClients, vm: Vm, signal: AbortSignal): Promise<DataDiskReads> => {
  const ids = (vm.storageProfile?.dataDisks ?? []).flatMap(({ managedDisk }) => managedDisk?.id?.toLowerCase() ?? []);
  return new Map(
    await Promise.all(ids.map(async (id) => [id, await readUnlessDenied(readDisk(clients, id, signal))] as const)),
  );
};

/**
 * Replaces each scale set with its machines. If something happens to the whole set, Cloudfence looks at each of its
 * machines. A deleted set has no machines. Returns all other ids unchanged, including sets of other subscriptions,
 * which the caller rejects.
 *
 * @throws Unavailable, PermissionDenied, Refused
 */
export const expandScaleSets = async (
  clients: AzureClients,
  machines: readonly MachineId[],
  signal: AbortSignal,
): Promise<readonly MachineId[]> => {
  const expanded: MachineId[] = [];
  for (const machine of machines) {
    const set = scaleSetPath(machine);
    const isOurs = set?.subscription === clients.subscription.toLowerCase();
    expanded.push(...(set && isOurs ? await machinesOf(clients, set, signal) : [machine]));
  }
  return [...new Set(expanded)];
};

/**
 * A scale set has at most a thousand machines.
 * https://learn.microsoft.com/azure/virtual-machine-scale-sets/overview
 */
const MOST_PAGES = 100;

const machinesOf = (clients: AzureClients, set: ScaleSetPath, signal: AbortSignal): Promise<readonly MachineId[]> =>
  withCloudfenceErrors('virtualMachineScaleSets/virtualMachines/read', async () => {
    const found: MachineId[] = [];
    try {
      const listed = clients.reads.virtualMachineScaleSetVMs.list(set.group, set.set, { abortSignal: signal }).byPage();
      for await (const page of limitPages(listed, MOST_PAGES, 'the list of a scale set'))
        found.push(...page.flatMap((member) => memberMachineIds(set, member)));
    } catch (caught) {
      if (!saysSetIsGone(declinedWith(caught))) throw caught;
    }
    return found;
  });

const NUMBER = /^\d*$/;

/**
 * Returns the id of a listed member. A member of a flexible set is a standalone virtual machine and may be listed under
 * its name alone. The name may end like a number.
 */
export const memberMachineIds = (
  set: ScaleSetPath,
  { id, instanceId = '', virtualMachineResourceId }: VirtualMachineScaleSetVM,
): readonly MachineId[] => {
  const alone = machinePath(virtualMachineResourceId ?? '');
  if (alone) return [alone.id];
  if (!NUMBER.test(instanceId)) return [machineInSameGroup(set, instanceId)];
  const path = machinePath(id ?? '');
  return path ? [path.id] : [];
};
