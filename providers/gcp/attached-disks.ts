import type { DiskAttachment, DiskId } from '../../fencing/machine.ts';
import { names, type AskedDisk } from './disk-side.ts';
import { diskPath, pathIn, type InstancePath } from './paths.ts';
import type { AttachedDisk, Disk, Instance } from './resources.ts';

/** The disks that an instance names and that can be asked: a local SSD has no source, and dies with its instance's run. */
export const disksNamedBy = ({ disks }: Instance): readonly DiskId[] =>
  (disks ?? []).map(sourceOf).filter((id) => diskPath(id) !== null);

export const sourceOf = ({ source }: AttachedDisk): DiskId => pathIn(source ?? '');

/** Compute Engine shows no state of an attachment: a disk is attached, or it is not. */
export const attachedDisks = (machine: InstancePath, { disks }: Instance, asked: readonly AskedDisk[]): readonly DiskAttachment[] =>
  (disks ?? []).filter((attached) => sourceOf(attached) !== '').map((attached) => {
    const disk = asked.find(({ id }) => id === sourceOf(attached))?.disk ?? null;
    return { disk: sourceOf(attached), state: 'attached', keep: keepReason(machine, attached, disk) };
  });

const keepReason = (machine: InstancePath, { boot, type, mode }: AttachedDisk, disk: Disk | null): string | null => {
  if (boot !== false) return 'boot disk';
  if (type !== 'PERSISTENT') return `of the type ${type ?? 'unknown'}`;
  if (mode !== 'READ_WRITE') return `attached ${mode ?? 'in an unknown mode'}, and so perhaps shared`;
  if (disk === null || !names(disk, machine)) return 'the disk itself does not show this attachment';
  return (disk.users?.length ?? 0) > 1 || isMadeForMany(disk) ? 'attached to several instances, or made for it' : null;
};

const isMadeForMany = ({ accessMode }: Disk): boolean => (accessMode ?? '') !== '' && accessMode !== 'READ_WRITE_SINGLE';
