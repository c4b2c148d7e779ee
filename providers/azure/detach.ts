import type { Disk } from '@azure/arm-compute';
import { Refused } from '../../fencing/errors.ts';
import type { DiskId, MachineTarget } from '../../fencing/machine.ts';
import type { Permit } from '../../fencing/permit.ts';
import { keepReason } from './attached-disks.ts';
import type { AzureClients } from './client.ts';
import { diskById, isHeldBy } from './disk-by-id.ts';
import { orderUnderPermit } from './follow.ts';
import { sameDisk } from './ids.ts';
import { readIncarnation, type Bearer } from './incarnation.ts';
import { orderDetach } from './vm.ts';

export interface DetachOrder {
  readonly from: MachineTarget;
  readonly disk: DiskId;
  readonly manner: 'plain' | 'forced';
}

const CALL = 'attachDetachDataDisks/action';

/**
 * Asks Azure to detach the disk from this very machine. Azure has no compare-and-swap for that: so the disk and the bearer
 * of the machine's name are read right before, and the disk again when the order is declined.
 * https://learn.microsoft.com/rest/api/compute/virtual-machines/attach-detach-data-disks
 *
 * @throws Unavailable, Denied, Refused, ProofExpired
 */
export const detach = async (clients: AzureClients, order: DetachOrder, permit: Permit, signal: AbortSignal): Promise<void> => {
  const [disk, bearer] = await Promise.all([diskById(clients, order.disk, signal), readIncarnation(clients, order.from, { signal, withView: false })]);
  if (!disk || !isHeldBy(disk, order.from.machine)) return;
  const path = mayDetach(disk, bearer, order);
  const detachOption = order.manner === 'forced' ? { detachOption: 'ForceDetach' } : {};
  try {
    const wanted = { diskId: disk.id ?? order.disk, ...detachOption };
    await orderUnderPermit(clients, { name: CALL, permit, signal }, (client, ordering) => orderDetach(client, path, wanted, ordering));
  } catch (refusal) {
    if (!(refusal instanceof Refused)) throw refusal;
    await confirmDetached(clients, order, refusal, signal);
  }
};

/** The disk names the machine; is it the machine that was meant, and a disk that may be taken from it? */
const mayDetach = (disk: Disk, bearer: Bearer, { from, disk: id }: DetachOrder) => {
  if (bearer.said === 'other') throw new Refused(`${id} names ${from.machine}, and ${bearer.why}`);
  const isOsDisk = sameDisk(bearer.vm.storageProfile?.osDisk?.managedDisk?.id, id);
  const keep = isOsDisk ? 'OS disk' : keepReason(from.machine, disk);
  if (keep !== null) throw new Refused(`${id} is not detached from ${from.machine}: ${keep}`);
  return bearer.path;
};

const confirmDetached = async (clients: AzureClients, { from, disk }: DetachOrder, refusal: Refused, signal: AbortSignal): Promise<void> => {
  const said = await diskById(clients, disk, signal);
  if (said && isHeldBy(said, from.machine)) throw new Refused(`${refusal.message}, and ${disk} still names ${from.machine}`, { cause: refusal.cause });
};
