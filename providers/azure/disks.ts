import type { DataDisk, Disk } from '@azure/arm-compute';
import pLimit from 'p-limit';
import { z } from 'zod';
import { PermissionDenied, Unavailable } from '../../fencing/model/errors.ts';
import type {
  DiskAttachment,
  DiskId,
  DiskHolders,
  MachineId,
  VolumeHandle,
  Witness,
} from '../../fencing/model/machine.ts';
import { whyDeniedDiskIsKept } from '../denied-disk.ts';
import type { AzureClients } from './client.ts';
import { declinedWith, withCloudfenceErrors } from './errors.ts';
import { diskOf, diskPath, type DiskPath, isMachine, isNamesake, machinePath } from './identity.ts';
import type { Vm } from './machines.ts';
import type { DiskView } from '../../diagnosis/model/facts.ts';

/**
 * Azure's managed disks: which are attached to a machine, which machines hold them, and what they show as witnesses.
 */

/** Codes which say that ARM, or the disk service, does not know the disk. */
const NOT_FOUND: ReadonlySet<string> = new Set(['ResourceNotFound', 'ResourceGroupNotFound', 'NotFound']);

/**
 * Returns a managed disk's description of itself. Returns null if this subscription has no disk with that id.
 *
 * @throws Unavailable, PermissionDenied, Refused
 */
export const readDisk = (clients: AzureClients, id: string, signal: AbortSignal): Promise<Disk | null> =>
  withCloudfenceErrors('disks/read', async () => {
    const path = diskPath(id);
    if (!path || path.subscription !== clients.subscription.toLowerCase()) return null;
    try {
      return requireSameDisk(await clients.reads.disks.get(path.group, path.name, { abortSignal: signal }), path);
    } catch (caught) {
      const declined = declinedWith(caught);
      if (declined?.status === 404 && NOT_FOUND.has(declined.code)) return null;
      throw caught;
    }
  });

/** The fields of a disk that Cloudfence reads, in ARM's format. The SDK does not validate an answer. */
const diskSchema = z.object({
  id: z.string(),
  managedBy: z.string().nullish(),
  managedByExtended: z.array(z.string()).nullish(),
  diskState: z.string().nullish(),
  maxShares: z.number().nullish(),
  lastOwnershipUpdateTime: z.date().nullish(),
});

const requireSameDisk = (disk: Disk, { id }: DiskPath): Disk => {
  const read = diskSchema.safeParse(disk);
  if (read.success && diskPath(read.data.id)?.id === id) return disk;
  throw new Unavailable(
    `the response to disks/read is not about ${id}, so Cloudfence does not use it: ` +
      'check the proxies between Cloudfence and ARM',
    { cause: read.error },
  );
};

/** Returns all machines to which the disk is attached, according to the disk. */
const holdersOf = (disk: Disk): readonly string[] =>
  [disk.managedBy ?? '', ...(disk.managedByExtended ?? [])].filter((holder) => holder !== '');

/** https://learn.microsoft.com/rest/api/compute/disks/get#diskstate */
const IN_USE: ReadonlySet<string> = new Set(['attached', 'frozen', 'reserved']);

const FREE: ReadonlySet<string> = new Set([
  'unattached',
  'activesas',
  'activesasfrozen',
  'readytoupload',
  'activeupload',
]);

/**
 * Returns whether the disk's state is consistent with its holders: none for a free disk, at least one for a disk in
 * use.
 */
const hasConsistentHolders = (disk: Disk): boolean => {
  const state = disk.diskState?.toLowerCase() ?? '';
  return holdersOf(disk).length === 0 ? FREE.has(state) : state !== '' && state !== 'unattached';
};

/** Returns whether the disk is in use but names no machine. */
const isHeldByNobodyNamed = (disk: Disk): boolean =>
  holdersOf(disk).length === 0 && IN_USE.has(disk.diskState?.toLowerCase() ?? '');

export const isHeldBy = (disk: Disk, machine: MachineId): boolean =>
  holdersOf(disk).some((holder) => isMachine(holder, machine));

/** Returns whether the machine may hold the disk, if ARM does not know the machine under its id any more. */
const mayBeHeldBy = (disk: Disk, machine: MachineId): boolean =>
  isHeldByNobodyNamed(disk) || holdersOf(disk).some((holder) => isNamesake(holder, machine));

export const isShared = (disk: Disk): boolean =>
  (disk.maxShares ?? 1) > 1 || new Set(holdersOf(disk).map((holder) => holder.toLowerCase())).size > 1;

/** The answers of a machine's data disks, by id. Null for a disk that does not exist. */
export type DataDiskReads = ReadonlyMap<DiskId, Disk | PermissionDenied | null>;

/** Returns the disks that the machine names, each compared with what the disk itself says. */
export const attachedDisks = (machine: MachineId, vm: Vm, disks: DataDiskReads): readonly DiskAttachment[] => [
  ...osDisk(vm),
  ...(vm.storageProfile?.dataDisks ?? []).map((data) => dataDisk(machine, data, disks)),
];

const osDisk = ({ storageProfile }: Vm): readonly DiskAttachment[] => {
  const id = storageProfile?.osDisk?.managedDisk?.id ?? storageProfile?.osDisk?.vhd?.uri;
  return id === undefined ? [] : [{ disk: id.toLowerCase(), state: 'attached', keep: 'OS disk' }];
};

const dataDisk = (machine: MachineId, data: DataDisk, disks: DataDiskReads): DiskAttachment => {
  const state = data.toBeDetached ? 'detaching' : 'attached';
  const id = data.managedDisk?.id?.toLowerCase();
  if (id === undefined)
    return { disk: (data.vhd?.uri ?? `lun ${data.lun}`).toLowerCase(), state, keep: 'unmanaged disk' };
  const read = disks.get(id) ?? null;
  const keep = read instanceof PermissionDenied ? whyDeniedDiskIsKept(read) : whyDiskIsKept(machine, read);
  return { disk: id, state, keep };
};

/**
 * Returns why Cloudfence does not detach a disk, or null. If the disk itself does not confirm an attachment, Cloudfence
 * shows the attachment but does not detach the disk.
 */
export const whyDiskIsKept = (machine: MachineId, disk: Disk | null): string | null => {
  if (!disk || !isHeldBy(disk, machine)) return 'the disk itself does not report this attachment';
  return isShared(disk) ? 'attached to several machines, or a shared disk' : null;
};

const AT_ONCE = 10;

/**
 * Returns the machines that hold the disk. Returns null if the disk does not show that: a holder cannot be read, or the
 * disk is in use and names none.
 */
export const machinesHoldingDisk = (disk: Disk): DiskHolders['by'] | null => {
  if (!hasConsistentHolders(disk)) return null;
  const by = holdersOf(disk).map((holder) => machinePath(holder)?.id ?? null);
  const known = by.filter((machine) => machine !== null);
  return known.length === by.length ? [...new Set(known)] : null;
};

/**
 * Returns the machines that hold each disk. If a disk does not answer, the call throws.
 *
 * @throws Unavailable, PermissionDenied, Refused
 */
export const readHolders = async (
  clients: AzureClients,
  volumes: readonly VolumeHandle[],
  signal: AbortSignal,
): Promise<readonly DiskHolders[]> => {
  const limit = pLimit(AT_ONCE);
  const disks = [...new Set(volumes.map(diskOf).filter((disk) => disk !== null))];
  const asked = disks.map((id) => limit(async () => ({ id, disk: await readDisk(clients, id, signal) })));
  return (await Promise.all(asked)).flatMap(({ id, disk }) => {
    const by = disk && machinesHoldingDisk(disk);
    return by ? [{ disk: id, by }] : [];
  });
};

/**
 * Returns whether no machine holds the disk, or only machines whose ids can be read. A holder that cannot be read could
 * be any machine.
 */
const isElsewhere = (disk: Disk): boolean =>
  hasConsistentHolders(disk) && holdersOf(disk).every((holder) => machinePath(holder) !== null);

/**
 * Returns what the disks show about a machine that ARM does not know. After a machine is deleted, its disks continue to
 * name it for a while. After it is moved to another resource group, its disks name it by its new id. Disks can be
 * attached only within their subscription, and Cloudfence reads them from its own. So if it finds all disks that were
 * attached to the machine, the machine belonged to this subscription.
 *
 * @throws Unavailable, PermissionDenied, Refused
 */
export const askWitnesses = async (
  clients: AzureClients,
  machine: MachineId,
  disks: readonly DiskId[],
  signal: AbortSignal,
): Promise<Witness> => {
  const answers = await Promise.all([...new Set(disks)].map((disk) => readDisk(clients, disk, signal)));
  if (answers.some((disk) => disk !== null && mayBeHeldBy(disk, machine))) return 'held';
  return answers.length > 0 && answers.every((disk) => disk !== null && isElsewhere(disk)) ? 'released' : 'none';
};

const viewOf = (disk: DiskId, found: Disk | null): DiskView => {
  const [zone] = found?.zones ?? [];
  const state = found?.diskState ?? '';
  return {
    disk,
    exists: found !== null,
    state,
    zone: found && zone !== undefined ? `${found.location}-${zone}` : null,
    shared: found !== null && isShared(found),
    free: found !== null && machinesHoldingDisk(found)?.length === 0,
    holders: ((found && machinesHoldingDisk(found)) ?? []).map((machine) => ({
      machine,
      state: state.toLowerCase(),
      since: found?.lastOwnershipUpdateTime?.getTime() ?? null,
    })),
  };
};

/** Returns what each disk of this subscription says about itself. @throws Unavailable, PermissionDenied, Refused */
export const viewDisks = (
  clients: AzureClients,
  volumes: readonly VolumeHandle[],
  signal: AbortSignal,
): Promise<readonly DiskView[]> => {
  const limit = pLimit(AT_ONCE);
  const own = clients.subscription.toLowerCase();
  const disks = [...new Set(volumes.map(diskOf).filter((disk) => disk !== null))].filter(
    (disk) => diskPath(disk)?.subscription === own,
  );
  return Promise.all(disks.map((disk) => limit(async () => viewOf(disk, await readDisk(clients, disk, signal)))));
};
