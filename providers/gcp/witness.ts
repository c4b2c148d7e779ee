import type { DiskId, MachineId, Witness } from '../../fencing/machine.ts';
import type { ComputeClients } from './client.ts';
import { disksById, names, tellsItsUsers, type AskedDisk } from './disk-side.ts';
import { diskPath, instancePath, isWithin, type InstancePath } from './paths.ts';

/** A disk that is being made or is going away says nothing of where it was attached; nor does one whose users cannot be told. */
const standsFirm = ({ disk }: AskedDisk): boolean => disk?.status === 'READY' && tellsItsUsers(disk);

/**
 * What the disks say of an instance that Compute Engine does not know. It answers "not found" for an unknown project in the
 * same form, so only disks of that very project, and of a place from which they could be attached to the instance, vouch
 * for its answer; and all of them have to.
 */
export const witness = async (clients: ComputeClients, machine: MachineId, disks: readonly DiskId[], signal: AbortSignal): Promise<Witness> => {
  const path = instancePath(machine);
  if (!path) return 'none';
  const within = disks.filter((id) => mayTell(id, path));
  const asked = await disksById(clients, within, signal);
  if (asked.some(({ disk }) => disk !== null && names(disk, path))) return 'held';
  return asked.length > 0 && within.length === disks.length && asked.every(standsFirm) ? 'released' : 'none';
};

const mayTell = (id: DiskId, machine: InstancePath): boolean => {
  const disk = diskPath(id);
  return disk !== null && isWithin(disk, machine);
};
