import type { Disk } from '@azure/arm-compute';
import { Denied, Refused } from '../../fencing/model/errors.ts';
import type { DiskId, MachineTarget } from '../../fencing/model/machine.ts';
import type { Permit } from '../../fencing/model/permit.ts';
import { type PermittedCall, underPermit } from '../../transport/under-permit.ts';
import type { AzureClients, Following } from './client.ts';
import { diskById, isHeldBy, keepReason } from './disks.ts';
import { toCloudfenceError } from './errors.ts';
import { sameDisk } from './identity.ts';
import { type Bearer, type Operation, orderDetach, type Ordering, orderPowerOff, readIncarnation } from './machines.ts';
import { statusesOf } from './power.ts';

interface DetachOrder {
  readonly from: MachineTarget;
  readonly disk: DiskId;
  readonly manner: 'plain' | 'forced';
}

const CALL = 'attachDetachDataDisks/action';

/**
 * Asks Azure to detach the disk from this exact machine. Azure has no compare-and-swap for a detach. Therefore this
 * function reads the disk, and the machine that has the name now, right before the call. It reads the disk again if
 * Azure declines.
 * https://learn.microsoft.com/rest/api/compute/virtual-machines/attach-detach-data-disks
 *
 * @throws Unavailable, Denied, Refused, ProofExpired
 */
export const detach = async (
  clients: AzureClients,
  order: DetachOrder,
  permit: Permit,
  signal: AbortSignal,
): Promise<void> => {
  const [disk, bearer] = await Promise.all([
    diskById(clients, order.disk, signal),
    readIncarnation(clients, order.from, { signal, withView: false }),
  ]);
  if (!disk || !isHeldBy(disk, order.from.machine)) return;
  const path = mayDetach(disk, bearer, order);
  const detachOption = order.manner === 'forced' ? { detachOption: 'ForceDetach' } : {};
  try {
    const wanted = { diskId: disk.id ?? order.disk, ...detachOption };
    await orderUnderPermit(clients, { name: CALL, permit, signal }, (client, ordering) =>
      orderDetach(client, path, wanted, ordering),
    );
  } catch (refusal) {
    if (!(refusal instanceof Refused)) throw refusal;
    await confirmDetached(clients, order, refusal, signal);
  }
};

/**
 * Returns the path of the machine if it is the intended one and the disk, which names it, may be detached from it.
 *
 * @throws Refused
 */
const mayDetach = (disk: Disk, bearer: Bearer, { from, disk: id }: DetachOrder) => {
  if (bearer.said === 'other') throw new Refused(`${id} names ${from.machine}, and ${bearer.why}`);
  const isOsDisk = sameDisk(bearer.vm.storageProfile?.osDisk?.managedDisk?.id, id);
  const keep = isOsDisk ? 'OS disk' : keepReason(from.machine, disk);
  if (keep !== null) throw new Refused(`${id} is not detached from ${from.machine}: ${keep}`);
  return bearer.path;
};

const confirmDetached = async (
  clients: AzureClients,
  { from, disk }: DetachOrder,
  refusal: Refused,
  signal: AbortSignal,
): Promise<void> => {
  const said = await diskById(clients, disk, signal);
  if (said && isHeldBy(said, from.machine))
    throw new Refused(`${refusal.message}, and ${disk} still names ${from.machine}`, { cause: refusal.cause });
};

/**
 * Power states that a hard power-off can end. A starting machine is left alone, because somebody has just asked for the
 * start.
 */
const ENDS: ReadonlySet<string | null> = new Set(['running', 'stopping', 'deallocating', 'unknown', null]);

/**
 * Stops this exact machine whether or not its operating system cooperates.
 * https://learn.microsoft.com/rest/api/compute/virtual-machines/power-off
 *
 * @throws Unavailable, Denied, Refused, ProofExpired
 */
export const powerOff = async (
  clients: AzureClients,
  target: MachineTarget,
  permit: Permit,
  signal: AbortSignal,
): Promise<void> => {
  const bearer = await readIncarnation(clients, target, { signal, withView: true });
  if (bearer.said === 'other') throw new Refused(`${target.machine} is not powered off: ${bearer.why}`);
  const { power } = statusesOf(bearer.vm);
  if (!ENDS.has(power)) throw new Refused(`${target.machine} is not powered off: it is ${power}`);
  await orderUnderPermit(clients, { name: 'powerOff/action', permit, signal }, (client, ordering) =>
    orderPowerOff(client, bearer.path, ordering),
  );
};

/** Sends the call. When it returns, the request has left or is held. */
type Order = (client: ReturnType<AzureClients['writes']>, ordering: Ordering) => Operation;

/**
 * Sends a call, waits until Azure accepts it, and follows the operation to its end if that comes soon.
 *
 * Fencing needs only the acceptance, because the next look shows whether a disk is gone. The operation is still
 * followed for two reasons. While it runs, the machine proves nothing (it is `Updating`) and accepts no other call. And
 * nothing else reports its failure. The operation continues when the caller gives up, or when it lasts longer than it
 * is followed.
 * https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations
 *
 * @throws Unavailable, Denied (the call itself), Refused, ProofExpired
 */
const orderUnderPermit = async (
  { writes, following }: AzureClients,
  call: PermittedCall,
  order: Order,
): Promise<void> => {
  try {
    // The object keeps the operation from being awaited: an operation by itself is a promise of its end.
    const { operation } = await underPermit(call, async (passage) => {
      const operation = order(writes(passage), { signal: passage.signal, everyMs: following.everyMs });
      await operation.submitted();
      return { operation };
    });
    return await follow(operation, call, following);
  } catch (caught) {
    throw toCloudfenceError(caught, call.name);
  }
};

const follow = async (operation: Operation, { name, signal }: PermittedCall, following: Following): Promise<void> => {
  const enough = new AbortController();
  try {
    countTo(operation, following.times, () => enough.abort());
    await operation.pollUntilDone({ abortSignal: AbortSignal.any([...(signal ? [signal] : []), enough.signal]) });
  } catch (caught) {
    throwUnlessUnderWay(operation, name, caught);
  }
};

const countTo = (operation: Operation, times: number, then: () => void): void => {
  let asked = 0;
  operation.onProgress(() => {
    asked += 1;
    if (asked >= times) then();
  });
};

/**
 * Throws when the operation has failed, and returns when it continues. The SDK throws a failed operation without a
 * code, so the operation's state in the SDK tells the two apart. Credentials that may make a call may still be denied
 * to ask about it (`Microsoft.Compute/locations/operations/read`). Then the operation continues, too.
 */
const throwUnlessUnderWay = ({ operationState }: Operation, call: string, caught: unknown): void => {
  const status = operationState?.status;
  if (status !== 'failed' && status !== 'canceled') return;
  const answered = caught instanceof Error && caught.name === 'RestError';
  const error = answered
    ? toCloudfenceError(caught, call)
    : new Refused(`${call} was accepted, and then ${status}`, { cause: caught });
  if (!(error instanceof Denied)) throw error;
};
