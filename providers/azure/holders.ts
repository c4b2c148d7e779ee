import type { Disk } from '@azure/arm-compute';
import pLimit from 'p-limit';
import type { Holding, VolumeHandle } from '../../fencing/machine.ts';
import type { AzureClients } from './client.ts';
import { diskById, holdersOf, tellsItsHolders } from './disk-by-id.ts';
import { diskOf } from './disk-of.ts';
import { machinePath } from './ids.ts';

const AT_ONCE = 10;

/** Null where the disk cannot tell: it names somebody who cannot be read, or nobody although it is held. */
export const machinesHolding = (disk: Disk): Holding['by'] | null => {
  if (!tellsItsHolders(disk)) return null;
  const by = holdersOf(disk).map((holder) => machinePath(holder)?.id ?? null);
  const known = by.filter((machine) => machine !== null);
  return known.length === by.length ? [...new Set(known)] : null;
};

/** @throws Unavailable, Denied, Refused: all disks are asked, or none has answered */
export const holders = async (clients: AzureClients, volumes: readonly VolumeHandle[], signal: AbortSignal): Promise<readonly Holding[]> => {
  const limit = pLimit(AT_ONCE);
  const disks = [...new Set(volumes.map(diskOf).filter((disk) => disk !== null))];
  const asked = disks.map((id) => limit(async () => ({ id, disk: await diskById(clients, id, signal) })));
  return (await Promise.all(asked)).flatMap(({ id, disk }) => {
    const by = disk && machinesHolding(disk);
    return by ? [{ disk: id, by }] : [];
  });
};
