import type { Disk } from '@azure/arm-compute';
import pLimit from 'p-limit';
import type { DiskView } from '../../diagnosis/model/facts.ts';
import type { DiskId, VolumeHandle } from '../../fencing/model/machine.ts';
import type { AzureClients } from './client.ts';
import { isShared, machinesHoldingDisk, readDisk } from './disks.ts';
import { diskOf } from './identity.ts';

const AT_ONCE = 10;

const viewOf = (disk: DiskId, found: Disk | null): DiskView => {
  const [zone] = found?.zones ?? [];
  const state = found?.diskState ?? '';
  return {
    disk,
    exists: found !== null,
    state,
    zone: found && zone !== undefined ? `${found.location}-${zone}` : null,
    shared: found !== null && isShared(found),
    holders: ((found && machinesHoldingDisk(found)) ?? []).map((machine) => ({
      machine,
      state: state.toLowerCase(),
      since: found?.lastOwnershipUpdateTime?.getTime() ?? null,
    })),
  };
};

/** Returns what each disk says about itself. @throws Unavailable, PermissionDenied, Refused */
export const viewDisks = (
  clients: AzureClients,
  volumes: readonly VolumeHandle[],
  signal: AbortSignal,
): Promise<readonly DiskView[]> => {
  const limit = pLimit(AT_ONCE);
  const disks = [...new Set(volumes.map(diskOf).filter((disk) => disk !== null))];
  return Promise.all(disks.map((disk) => limit(async () => viewOf(disk, await readDisk(clients, disk, signal)))));
};
