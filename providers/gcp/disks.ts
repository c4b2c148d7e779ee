import type { google } from '@google-cloud/compute/build/protos/protos.js';
import pLimit from 'p-limit';
import { InvalidInput, PermissionDenied, Unavailable } from '../../fencing/model/errors.ts';
import type { DiskAttachment, DiskId, MachineId, Witness, VolumeHandle } from '../../fencing/model/machine.ts';
import { readUnlessDenied, whyDeniedDiskIsKept } from '../denied-disk.ts';
import { type ComputeClients, readCallOptions } from './client.ts';
import { isNotFound, withCloudfenceErrors } from './errors.ts';
import {
  diskPath,
  type DiskPath,
  type InstancePath,
  instancePath,
  isReachableDisk,
  pathFromLink,
  diskOf,
} from './identity.ts';
import type { DiskView } from '../../diagnosis/model/facts.ts';

/** Disks of Compute Engine: which are attached to an instance, who uses them, and what they show as witnesses. */

/** The disk with the requested id, as it describes itself. `disk` is null if it does not exist. */
export interface DiskRead {
  readonly id: DiskId;
  readonly path: DiskPath;
  readonly disk: Disk | null;
}

/** The same for a disk of an instance. `disk` is the error if Cloudfence may not read it. */
export interface OwnDiskRead {
  readonly id: DiskId;
  readonly disk: Disk | PermissionDenied | null;
}

const AT_ONCE = 10;

/** Reads each disk by id. If a disk does not answer, the call throws. @throws Unavailable, PermissionDenied, Refused */
export const readDisks = (
  clients: ComputeClients,
  ids: readonly DiskId[],
  signal: AbortSignal,
): Promise<readonly DiskRead[]> => {
  const limit = pLimit(AT_ONCE);
  return Promise.all([...new Set(ids)].map((id) => limit(() => readDisk(clients, id, signal))));
};

/**
 * Reads the disks of an instance. No proof needs them, so a disk that Cloudfence may not read does not stop the look.
 *
 * @throws Unavailable, Refused
 */
export const readOwnDisks = (
  clients: ComputeClients,
  instance: Instance,
  signal: AbortSignal,
): Promise<readonly OwnDiskRead[]> => {
  const limit = pLimit(AT_ONCE);
  const ids = [...new Set(diskIdsOfInstance(instance))];
  return Promise.all(ids.map((id) => limit(() => readOwnDisk(clients, id, signal))));
};

const readOwnDisk = async (clients: ComputeClients, id: DiskId, signal: AbortSignal): Promise<OwnDiskRead> => {
  const read = await readUnlessDenied(readDisk(clients, id, signal));
  return read instanceof PermissionDenied ? { id, disk: read } : read;
};

export const readDisk = async (clients: ComputeClients, id: DiskId, signal: AbortSignal): Promise<DiskRead> => {
  const path = diskPath(id);
  if (!path) throw new InvalidInput(`${id} is not a disk of Compute Engine`);
  try {
    return { id, path, disk: requireSameDisk(await get(clients, path, signal), path) };
  } catch (caught) {
    if (caught instanceof Error && isNotFound(caught.cause)) return { id, path, disk: null };
    throw caught;
  }
};

/** Returns the disk if it is the requested one and has a state. The SDK accepts any JSON as a disk. */
const requireSameDisk = (disk: Disk, path: DiskPath): Disk => {
  if (disk.name === path.disk && disk.status) return disk;
  throw new Unavailable(`the response is not about ${path.disk}, so it is not from Compute Engine`);
};

const get = async (clients: ComputeClients, path: DiskPath, signal: AbortSignal): Promise<Disk> => {
  if ('zone' in path) {
    return (
      await withCloudfenceErrors(clients, 'compute.disks.get', signal, () =>
        clients.disks.get(path, readCallOptions(signal)),
      )
    )[0];
  }
  return (
    await withCloudfenceErrors(clients, 'compute.regionDisks.get', signal, () =>
      clients.regionDisks.get(path, readCallOptions(signal)),
    )
  )[0];
};

/** The end of a link to an instance, in every format that the API uses. */
const USER = /(?:^|\/)zones\/([^/]+)\/instances\/([a-z][^/]*)$/;

/**
 * Returns whether the disk names the instance. The users of a disk are links to instances by name. A disk is never
 * attached to an instance of another project.
 */
export const isAttachedTo = (disk: Disk, { zone, instance }: InstancePath): boolean =>
  (disk.users ?? []).some((user) => {
    const [, itsZone, itsName] = USER.exec(user) ?? [];
    return itsZone === zone && itsName === instance;
  });

/** Returns whether every user can be identified. A user that cannot be identified could be any instance. */
export const hasOnlyKnownUsers = ({ users }: Disk): boolean => (users ?? []).every((user) => USER.test(user));

/**
 * Returns the disks of an instance that can be read. A local SSD has no source and exists only while its instance runs.
 */
const diskIdsOfInstance = ({ disks }: Instance): readonly DiskId[] =>
  (disks ?? []).map(diskIdOf).filter((id) => diskPath(id) !== null);

export const diskIdOf = ({ source }: AttachedDisk): DiskId => pathFromLink(source ?? '');

/** Returns the attached disks. Compute Engine has no state of an attachment: a disk is either attached or not. */
export const attachedDisks = (
  machine: InstancePath,
  { disks }: Instance,
  asked: readonly OwnDiskRead[],
): readonly DiskAttachment[] =>
  (disks ?? [])
    .filter((attached) => diskIdOf(attached) !== '')
    .map((attached) => {
      const disk = asked.find(({ id }) => id === diskIdOf(attached))?.disk ?? null;
      return { disk: diskIdOf(attached), state: 'attached', keep: whyDiskIsKept(machine, attached, disk) };
    });

const whyDiskIsKept = (
  machine: InstancePath,
  { boot, type, mode }: AttachedDisk,
  disk: OwnDiskRead['disk'],
): string | null => {
  if (boot !== false) return 'boot disk';
  if (type !== 'PERSISTENT') return `a disk of type ${type ?? 'unknown'}`;
  if (mode !== 'READ_WRITE') return `attached ${mode ?? 'in an unknown mode'}, so possibly shared`;
  if (disk instanceof PermissionDenied) return whyDeniedDiskIsKept(disk);
  if (disk === null || !isAttachedTo(disk, machine)) return 'the disk itself does not report this attachment';
  return (disk.users?.length ?? 0) > 1 || isMultiAttach(disk)
    ? 'attached to several instances, or a multi-writer disk'
    : null;
};

export const isMultiAttach = ({ accessMode }: Disk): boolean =>
  (accessMode ?? '') !== '' && accessMode !== 'READ_WRITE_SINGLE';

/**
 * Returns whether the disk's answer about its attachment counts. A disk that is being created or deleted, or whose
 * users cannot be identified, does not show where it was attached.
 */
const isReady = ({ disk }: DiskRead): boolean => disk?.status === 'READY' && hasOnlyKnownUsers(disk);

/**
 * Returns what the disks show about an instance that Compute Engine does not know. Compute Engine's "not found" looks
 * the same for an unknown project. So only disks of the same project, in a location from which they could be attached
 * to the instance, confirm the answer. All of the disks must confirm it.
 */
export const askWitnesses = async (
  clients: ComputeClients,
  machine: MachineId,
  disks: readonly DiskId[],
  signal: AbortSignal,
): Promise<Witness> => {
  const path = instancePath(machine);
  if (!path) return 'none';
  const within = disks.filter((id) => mayTell(id, path));
  const asked = await readDisks(clients, within, signal);
  if (asked.some(({ disk }) => disk !== null && isAttachedTo(disk, path))) return 'held';
  return asked.length > 0 && within.length === disks.length && asked.every(isReady) ? 'released' : 'none';
};

const mayTell = (id: DiskId, machine: InstancePath): boolean => {
  const disk = diskPath(id);
  return disk !== null && isReachableDisk(disk, machine);
};

/** The SDK's own types under shorter names. */
export type Instance = google.cloud.compute.v1.IInstance;
type AttachedDisk = google.cloud.compute.v1.IAttachedDisk;
type Disk = google.cloud.compute.v1.IDisk;

const viewOf = ({ id, path, disk }: DiskRead): DiskView => ({
  disk: id,
  exists: disk !== null,
  state: disk?.status ?? '',
  zone: 'zone' in path ? path.zone : null,
  shared: disk !== null && isMultiAttach(disk),
  free: disk !== null && (disk.users ?? []).length === 0,
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
