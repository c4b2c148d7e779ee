import type { Disk } from '@azure/arm-compute';
import type { MachineId } from '../../fencing/machine.ts';
import type { AzureClients } from './client.ts';
import { codeOf, translated } from './errors.ts';
import { diskPath, isMachine } from './ids.ts';

/** ARM does not know the disk, or the disk's own service does not. */
const NOT_FOUND: ReadonlySet<string> = new Set(['ResourceNotFound', 'ResourceGroupNotFound', 'NotFound']);

/** A managed disk's own word; null when there is none of that id in this subscription. @throws Unavailable, Denied, Refused */
export const diskById = (clients: AzureClients, id: string, signal: AbortSignal): Promise<Disk | null> =>
  translated('disks/read', async () => {
    const path = diskPath(id);
    if (!path || path.subscription !== clients.subscription.toLowerCase()) return null;
    try {
      return await clients.reads.disks.get(path.group, path.name, { abortSignal: signal });
    } catch (caught) {
      const code = codeOf(caught);
      if (code !== null && NOT_FOUND.has(code)) return null;
      throw caught;
    }
  });

/** Everybody that the disk says it is attached to. */
export const holdersOf = (disk: Disk): readonly string[] => [disk.managedBy ?? '', ...(disk.managedByExtended ?? [])].filter((holder) => holder !== '');

/** https://learn.microsoft.com/rest/api/compute/disks/get#diskstate */
const IN_USE: ReadonlySet<string> = new Set(['attached', 'frozen', 'reserved']);

/** Somebody has it, and it does not say who. */
export const isHeldByNobodyNamed = (disk: Disk): boolean => holdersOf(disk).length === 0 && IN_USE.has(disk.diskState?.toLowerCase() ?? '');

export const isHeldBy = (disk: Disk, machine: MachineId): boolean => holdersOf(disk).some((holder) => isMachine(holder, machine));

export const isShared = (disk: Disk): boolean => (disk.maxShares ?? 1) > 1 || new Set(holdersOf(disk).map((holder) => holder.toLowerCase())).size > 1;
