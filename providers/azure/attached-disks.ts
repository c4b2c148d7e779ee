import type { DataDisk, Disk } from '@azure/arm-compute';
import type { DiskAttachment, MachineId } from '../../fencing/machine.ts';
import { isHeldBy, isShared } from './disk-by-id.ts';
import type { Vm } from './vm.ts';

/** What the machine says of its disks, each held against what the disk says itself. */
export const attachedDisks = (machine: MachineId, vm: Vm, disks: ReadonlyMap<string, Disk | null>): readonly DiskAttachment[] => [
  ...osDisk(vm),
  ...(vm.storageProfile?.dataDisks ?? []).map((data) => dataDisk(machine, data, disks)),
];

const osDisk = ({ storageProfile }: Vm): readonly DiskAttachment[] => {
  const id = storageProfile?.osDisk?.managedDisk?.id ?? storageProfile?.osDisk?.vhd?.uri;
  return id === undefined ? [] : [{ disk: id.toLowerCase(), state: 'attached', keep: 'OS disk' }];
};

const dataDisk = (machine: MachineId, data: DataDisk, disks: ReadonlyMap<string, Disk | null>): DiskAttachment => {
  const state = data.toBeDetached ? 'detaching' : 'attached';
  const id = data.managedDisk?.id?.toLowerCase();
  if (id === undefined) return { disk: (data.vhd?.uri ?? `lun ${data.lun}`).toLowerCase(), state, keep: 'unmanaged disk' };
  return { disk: id, state, keep: keepReason(machine, disks.get(id) ?? null) };
};

/** What the disk itself does not confirm is shown and left alone. */
export const keepReason = (machine: MachineId, disk: Disk | null): string | null => {
  if (!disk || !isHeldBy(disk, machine)) return 'the disk itself does not show this attachment';
  return isShared(disk) ? 'attached to several machines, or made for it' : null;
};
