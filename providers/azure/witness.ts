import type { Disk } from '@azure/arm-compute';
import type { DiskId, MachineId, Witness } from '../../fencing/machine.ts';
import type { AzureClients } from './client.ts';
import { diskById, holdersOf, isHeldBy, isHeldByNobodyNamed, tellsItsHolders } from './disk-by-id.ts';
import { machinePath } from './ids.ts';

/** A disk that nobody holds, or that others do: a holder that cannot be read might be anybody. */
const isElsewhere = (disk: Disk): boolean => tellsItsHolders(disk) && holdersOf(disk).every((holder) => machinePath(holder) !== null);

/**
 * What the disks say of a machine that ARM does not know. When a machine is deleted its disks go on naming it for a while.
 * Disks attach within their subscription and are read from ours: when all that were attached to it are found, it was of this place.
 *
 * @throws Unavailable, Denied, Refused
 */
export const witness = async (clients: AzureClients, machine: MachineId, disks: readonly DiskId[], signal: AbortSignal): Promise<Witness> => {
  const said = await Promise.all([...new Set(disks)].map((disk) => diskById(clients, disk, signal)));
  if (said.some((disk) => disk !== null && (isHeldBy(disk, machine) || isHeldByNobodyNamed(disk)))) return 'held';
  return said.length > 0 && said.every((disk) => disk !== null && isElsewhere(disk)) ? 'released' : 'none';
};
