import type { google } from '@google-cloud/compute/build/protos/protos.js';
import pLimit from 'p-limit';
import { InvalidInput, Unavailable } from '../../fencing/model/errors.ts';
import type { DiskAttachment, DiskId, MachineId, Witness } from '../../fencing/model/machine.ts';
import { type ComputeClients, reading } from './client.ts';
import { isNotFound, withCloudfenceErrors } from './errors.ts';
import { diskPath, type DiskPath, type InstancePath, instancePath, isWithin, pathIn } from './identity.ts';

/** A disk by its id, as it was asked for, and what it says of itself; null when it does not exist. */
export interface AskedDisk {
  readonly id: DiskId;
  readonly path: DiskPath;
  readonly disk: Disk | null;
}

const AT_ONCE = 10;

/** Asks each disk itself, by id. @throws Unavailable, Denied, Refused: all of them answer, or none */
export const disksById = (
  clients: ComputeClients,
  ids: readonly DiskId[],
  signal: AbortSignal,
): Promise<readonly AskedDisk[]> => {
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
  throw new Unavailable(
    `${path.disk} was asked for and something else was answered: this is no answer of Compute Engine`,
  );
};

const get = async (clients: ComputeClients, path: DiskPath, signal: AbortSignal): Promise<Disk> => {
  if ('zone' in path) {
    return (
      await withCloudfenceErrors(clients, 'compute.disks.get', signal, () => clients.disks.get(path, reading(signal)))
    )[0];
  }
  return (
    await withCloudfenceErrors(clients, 'compute.regionDisks.get', signal, () =>
      clients.regionDisks.get(path, reading(signal)),
    )
  )[0];
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

/**
 * The disks that an instance names and that can be asked: a local SSD has no source, and dies with its instance's run.
 */
export const disksNamedBy = ({ disks }: Instance): readonly DiskId[] =>
  (disks ?? []).map(sourceOf).filter((id) => diskPath(id) !== null);

export const sourceOf = ({ source }: AttachedDisk): DiskId => pathIn(source ?? '');

/** Compute Engine shows no state of an attachment: a disk is attached, or it is not. */
export const attachedDisks = (
  machine: InstancePath,
  { disks }: Instance,
  asked: readonly AskedDisk[],
): readonly DiskAttachment[] =>
  (disks ?? [])
    .filter((attached) => sourceOf(attached) !== '')
    .map((attached) => {
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

const isMadeForMany = ({ accessMode }: Disk): boolean =>
  (accessMode ?? '') !== '' && accessMode !== 'READ_WRITE_SINGLE';

/**
 * A disk that is being made or is going away says nothing of where it was attached; nor does one whose users cannot be
 * told.
 */
const standsFirm = ({ disk }: AskedDisk): boolean => disk?.status === 'READY' && tellsItsUsers(disk);

/**
 * What the disks say of an instance that Compute Engine does not know. It answers "not found" for an unknown project in
 * the same form, so only disks of that very project, and of a place from which they could be attached to the instance,
 * vouch for its answer; and all of them have to.
 */
export const witness = async (
  clients: ComputeClients,
  machine: MachineId,
  disks: readonly DiskId[],
  signal: AbortSignal,
): Promise<Witness> => {
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

/** The SDK's own types, by shorter names. */
export type Instance = google.cloud.compute.v1.IInstance;
type AttachedDisk = google.cloud.compute.v1.IAttachedDisk;
type Disk = google.cloud.compute.v1.IDisk;
