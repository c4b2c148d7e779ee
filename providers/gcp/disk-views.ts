import type { DiskView } from '../../diagnosis/model/facts.ts';
import type { VolumeHandle } from '../../fencing/model/machine.ts';
import type { ComputeClients } from './client.ts';
import { isMultiAttach, readDisks, type DiskRead } from './disks.ts';
import { diskOf, instancePath, pathFromLink } from './identity.ts';

const viewOf = ({ id, path, disk }: DiskRead): DiskView => ({
  disk: id,
  exists: disk !== null,
  state: disk?.status ?? '',
  zone: 'zone' in path ? path.zone : null,
  shared: disk !== null && isMultiAttach(disk),
  holders: (disk?.users ?? [])
    .map(pathFromLink)
    .filter((machine) => instancePath(machine) !== null)
    .map((machine) => ({ machine, state: 'attached', since: timeOf(disk?.lastAttachTimestamp) })),
});

const timeOf = (text: string | null | undefined): number | null =>
  text === undefined || text === null ? null : Date.parse(text) || null;

/** Returns what each disk says about itself. @throws Unavailable, PermissionDenied, Refused */
export const viewDisks = async (
  clients: ComputeClients,
  volumes: readonly VolumeHandle[],
  signal: AbortSignal,
): Promise<readonly DiskView[]> => {
  const disks = volumes.map(diskOf).filter((disk) => disk !== null);
  return (await readDisks(clients, disks, signal)).map(viewOf);
};
