import pLimit from 'p-limit';
import { InvalidInput, Unavailable } from '../../fencing/errors.ts';
import type { DiskId } from '../../fencing/machine.ts';
import { reading } from './calls.ts';
import type { ComputeClients } from './client.ts';
import { isNotFound, translated } from './errors.ts';
import { diskPath, type DiskPath, type InstancePath } from './paths.ts';
import type { Disk } from './resources.ts';

/** A disk by its id, as it was asked for, and what it says of itself; null when it does not exist. */
export interface AskedDisk {
  readonly id: DiskId;
  readonly path: DiskPath;
  readonly disk: Disk | null;
}

const AT_ONCE = 10;

/** Asks each disk itself, by id. @throws Unavailable, Denied, Refused: all of them answer, or none */
export const disksById = (clients: ComputeClients, ids: readonly DiskId[], signal: AbortSignal): Promise<readonly AskedDisk[]> => {
  const limit = pLimit(AT_ONCE);
  return Promise.all([...new Set(ids)].map((id) => limit(() => diskById(clients, id, signal))));
};

export const diskById = async (clients: ComputeClients, id: DiskId, signal: AbortSignal): Promise<AskedDisk> => {
  const path = diskPath(id);
  if (!path) throw new InvalidInput(`${id} is no disk of Compute Engine`);
  try {
    return { id, path, disk: thatDisk(await get(clients, path, signal), path) };
  } catch (caught) {
    if (caught instanceof Error && isNotFound(caught.cause)) return { id, path, disk: null };
    throw caught;
  }
};

/** The SDK makes a disk of any JSON: it has to be this one, in a state. */
const thatDisk = (disk: Disk, path: DiskPath): Disk => {
  if (disk.name === path.disk && disk.status) return disk;
  throw new Unavailable(`${path.disk} was asked for and something else was answered: this is no answer of Compute Engine`);
};

const get = async (clients: ComputeClients, path: DiskPath, signal: AbortSignal): Promise<Disk> => {
  if ('zone' in path) {
    return (await translated(clients, 'compute.disks.get', signal, () => clients.disks.get(path, reading(signal))))[0];
  }
  return (await translated(clients, 'compute.regionDisks.get', signal, () => clients.regionDisks.get(path, reading(signal))))[0];
};

/** The end of a link to an instance, in any of the forms that the API writes them in. */
const USER = /(?:^|\/)zones\/([^/]+)\/instances\/([a-z][^/]*)$/;

/** The users of a disk are links to instances by name; a disk is never attached to an instance of another project. */
export const names = (disk: Disk, { zone, instance }: InstancePath): boolean =>
  (disk.users ?? []).some((user) => {
    const [, itsZone, itsName] = USER.exec(user) ?? [];
    return itsZone === zone && itsName === instance;
  });

/** Whether each user can be told; one that cannot might be anybody. */
export const tellsItsUsers = ({ users }: Disk): boolean => (users ?? []).every((user) => USER.test(user));
