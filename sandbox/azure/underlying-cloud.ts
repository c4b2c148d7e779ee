import type { DriverAnswer, UnderlyingCloud } from '../underlying-cloud.ts';
import { write } from '../history.ts';
import { attach, detach, settleDisks } from './attachments.ts';
import { change } from './change.ts';
import { ArmRefusal } from './refusal.ts';
import { addDisk } from './scenario.ts';
import type { AzureCloudWorld, Disk, Machine, WithAzure } from './state.ts';
import { attachmentTo, diskIn, machineIn, machinesIn } from './state.ts';

/**
 * Azure for kubelets, the disk driver, and the cloud controller. The driver identifies machines by Node name.
 */
export const underlyingAzure: UnderlyingCloud<WithAzure> = {
  driver: 'disk.csi.azure.com',
  guestAlive: (world, machine) => machineIn(world, machine)?.guest === 'up',
  guestStopping: (world, machine) => ['stopping', 'deallocating'].includes(machineIn(world, machine)?.power ?? ''),
  bootOf: (world, machine) => `${machineIn(world, machine)?.vmId ?? 'nobody'}/${machineIn(world, machine)?.boot ?? 0}`,
  existence: (world, machine) => {
    const known = machineIn(world, machine);
    if (!known) return 'gone';
    return known.power === 'stopped' || known.power === 'deallocated' || known.power === 'deallocating'
      ? 'shut-down'
      : 'exists';
  },
  publish: (world, handle, node) => driverCall(() => publish(world, handle, node)),
  unpublish: (world, handle, node) => driverCall(() => unpublish(world, handle, node)),
  provision: (world, zone) => diskIn(world, addDisk(world, { zone: zone.split('-').at(-1) ?? '1' }))?.armId ?? '',
  deprovision: (world, handle) => write(world.parts.azure.disks, handle.toLowerCase(), null, world.now()),
  mount: (world, handle, machine) => mount(world, handle, machine),
  unmount: (world, handle, machine) => unmount(world, handle, machine),
};

/** The driver queues the calls that a busy machine rejects. */
const driverCall = (call: () => DriverAnswer): DriverAnswer => {
  try {
    return call();
  } catch (refusal) {
    if (!(refusal instanceof ArmRefusal)) throw refusal;
    return refusal.code === 'Conflict' ? 'pending' : { error: `${refusal.code}: ${refusal.message}` };
  }
};

const diskOf = (world: AzureCloudWorld, handle: string): Disk | undefined => diskIn(world, handle.toLowerCase());

const machineNamed = (world: AzureCloudWorld, node: string): Machine | undefined =>
  machinesIn(world).find(({ computerName }) => computerName.toLowerCase() === node);

const publish = (world: AzureCloudWorld, handle: string, node: string): DriverAnswer => {
  const [disk, machine] = [diskOf(world, handle), machineNamed(world, node)];
  if (!disk) return { error: `disk ${handle} not found` };
  if (!machine) return { error: `failed to get azure instance id for node ${node} (instance not found)` };
  const attachment = attachmentTo(disk, machine.id);
  if (attachment?.state === 'attached') return 'done';
  if (!attachment) attach(world, disk, machine);
  return 'pending';
};

/** If a machine is gone, the driver waits until its disk no longer names it. The driver never forces a detach. */
const unpublish = (world: AzureCloudWorld, handle: string, node: string): DriverAnswer => {
  const [disk, machine] = [diskOf(world, handle), machineNamed(world, node)];
  if (!disk || disk.attachments.length === 0) return 'done';
  if (!machine)
    return disk.attachments.some((attachment) => machineIn(world, attachment.machine) === undefined)
      ? 'pending'
      : 'done';
  const attachment = attachmentTo(disk, machine.id);
  if (!attachment) return 'done';
  if (attachment.state !== 'detaching') detach(world, disk, machine, false);
  return 'pending';
};

const mount = (world: AzureCloudWorld, handle: string, id: string): boolean => {
  const [disk, machine] = [diskOf(world, handle), machineIn(world, id)];
  if (machine?.guest !== 'up' || !disk || attachmentTo(disk, id)?.state !== 'attached') return false;
  if (!machine.mounts.includes(disk.id)) change(world, machine, { mounts: [...machine.mounts, disk.id] });
  return true;
};

const unmount = (world: AzureCloudWorld, handle: string, id: string): void => {
  const machine = machineIn(world, id);
  if (machine?.guest !== 'up') return;
  change(world, machine, { mounts: machine.mounts.filter((mounted) => mounted !== handle.toLowerCase()) });
  settleDisks(world, id);
};
