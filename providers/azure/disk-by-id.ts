import type { Disk } from '@azure/arm-compute';
import { z } from 'zod';
import { Unavailable } from '../../fencing/errors.ts';
import type { MachineId } from '../../fencing/machine.ts';
import type { AzureClients } from './client.ts';
import { declinedWith, translated } from './errors.ts';
import { diskPath, isMachine, type DiskPath } from './ids.ts';

/** ARM does not know the disk, or the disk's own service does not. */
const NOT_FOUND: ReadonlySet<string> = new Set(['ResourceNotFound', 'ResourceGroupNotFound', 'NotFound']);

/** A managed disk's own word; null when there is none of that id in this subscription. @throws Unavailable, Denied, Refused */
export const diskById = (clients: AzureClients, id: string, signal: AbortSignal): Promise<Disk | null> =>
  translated('disks/read', async () => {
    const path = diskPath(id);
    if (!path || path.subscription !== clients.subscription.toLowerCase()) return null;
    try {
      return thatDisk(await clients.reads.disks.get(path.group, path.name, { abortSignal: signal }), path);
    } catch (caught) {
      const declined = declinedWith(caught);
      if (declined?.status === 404 && NOT_FOUND.has(declined.code)) return null;
      throw caught;
    }
  });

/** What is read of a disk, as ARM writes it: the SDK hands on whatever stands in an answer. */
const inForm = z.object({
  id: z.string(),
  managedBy: z.string().nullish(),
  managedByExtended: z.array(z.string()).nullish(),
  diskState: z.string().nullish(),
  maxShares: z.number().nullish(),
  lastOwnershipUpdateTime: z.date().nullish(),
});

const thatDisk = (disk: Disk, { id }: DiskPath): Disk => {
  const read = inForm.safeParse(disk);
  if (read.success && diskPath(read.data.id)?.id === id) return disk;
  throw new Unavailable(`disks/read was not answered with ${id}: this is no answer of ARM`, { cause: read.error });
};

/** Everybody that the disk says it is attached to. */
export const holdersOf = (disk: Disk): readonly string[] => [disk.managedBy ?? '', ...(disk.managedByExtended ?? [])].filter((holder) => holder !== '');

/** https://learn.microsoft.com/rest/api/compute/disks/get#diskstate */
const IN_USE: ReadonlySet<string> = new Set(['attached', 'frozen', 'reserved']);

const FREE: ReadonlySet<string> = new Set(['unattached', 'activesas', 'activesasfrozen', 'readytoupload', 'activeupload']);

/** Its state agrees with the holders that it names: none of a free one, and at least one of one in use. */
export const tellsItsHolders = (disk: Disk): boolean => {
  const state = disk.diskState?.toLowerCase() ?? '';
  return holdersOf(disk).length === 0 ? FREE.has(state) : state !== '' && state !== 'unattached';
};

/** Somebody has it, and it does not say who. */
export const isHeldByNobodyNamed = (disk: Disk): boolean => holdersOf(disk).length === 0 && IN_USE.has(disk.diskState?.toLowerCase() ?? '');

export const isHeldBy = (disk: Disk, machine: MachineId): boolean => holdersOf(disk).some((holder) => isMachine(holder, machine));

export const isShared = (disk: Disk): boolean => (disk.maxShares ?? 1) > 1 || new Set(holdersOf(disk).map((holder) => holder.toLowerCase())).size > 1;
