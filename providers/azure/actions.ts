import { PermissionDenied, Refused, type CloudfenceError, ProofExpired } from '../../fencing/model/errors.ts';
import type { MachineTarget, DiskId } from '../../fencing/model/machine.ts';
import type { Permit } from '../../fencing/model/permit.ts';
import { type PermittedCall, underPermit } from '../../transport/under-permit.ts';
import type { AzureClients, OperationPolling } from './client.ts';
import { toCloudfenceError } from './errors.ts';
import {
  type Operation,
  type CallOptions,
  sendPowerOff,
  readIncarnation,
  type NameOwner,
  sendDetach,
} from './machines.ts';
import { statusesOf } from './power.ts';
import type { Disk } from '@azure/arm-compute';
import { isHeldBy, readDisk, whyDiskIsKept } from './disks.ts';
import { isSameDisk, machinePath, type MachinePath } from './identity.ts';

/** The destructive calls of Azure, each sent once and with a permit. */

/**
 * Power states that a hard power-off can end. A starting machine is left alone, because someone has just requested the
 * start.
 */
const ENDS: ReadonlySet<string | null> = new Set(['running', 'stopping', 'deallocating', 'unknown', null]);

/**
 * Stops this exact machine whether or not its operating system cooperates.
 * https://learn.microsoft.com/rest/api/compute/virtual-machines/power-off
 *
 * @throws Unavailable, PermissionDenied, Refused, ProofExpired
 */
export const powerOffMachine = async (
  clients: AzureClients,
  target: MachineTarget,
  permit: Permit,
  signal: AbortSignal,
): Promise<void> => {
  const holder = await readIncarnation(clients, target, { signal, withPowerState: true });
  if (holder.said === 'other') throw new Refused(`Cloudfence does not power off ${target.machine}: ${holder.why}`);
  const { power } = statusesOf(holder.vm);
  if (!ENDS.has(power))
    throw new Refused(`Cloudfence does not power off ${target.machine}: its power state is ${power}`);
  await sendUnderPermit(clients, { name: 'powerOff/action', permit, signal }, (client, options) =>
    sendPowerOff(client, holder.path, options),
  );
};

/** Sends the call. When it returns, the request has been sent or is held back. */
type SendCall = (client: ReturnType<AzureClients['writes']>, options: CallOptions) => Operation;

/**
 * Sends a call, waits until Azure accepts it, and follows the operation to its end if that comes soon.
 *
 * Fencing needs only that acceptance, because the next look shows whether the disk is detached. There are two reasons
 * to follow the operation anyway. While it runs, the machine proves nothing (it is `Updating`) and accepts no other
 * call. Only the operation reports its failure. The operation continues even if the caller stops waiting, or if it
 * lasts longer than it is followed.
 * https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations
 *
 * @throws Unavailable, PermissionDenied (the call itself), Refused, ProofExpired
 */
export const sendUnderPermit = async (
  { writes, polling }: AzureClients,
  call: PermittedCall,
  send: SendCall,
): Promise<void> => {
  try {
    // The object prevents the operation from being awaited, because an operation is itself a promise of its end.
    const { operation } = await underPermit(call, async (passage) => {
      const operation = send(writes(passage), { signal: passage.signal, everyMs: polling.everyMs });
      await operation.submitted();
      return { operation };
    });
    return await follow(operation, call, polling);
  } catch (caught) {
    throw toCloudfenceError(caught, call.name);
  }
};

const follow = async (
  operation: Operation,
  { name, signal }: PermittedCall,
  polling: OperationPolling,
): Promise<void> => {
  const enough = new AbortController();
  try {
    countTo(operation, polling.times, () => enough.abort());
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
 * Throws if the operation has failed, and returns if it is still running. The SDK throws a failed operation without a
 * code, so the state in the SDK shows the difference. Credentials that may make a call may lack the permission to ask
 * about it (`Microsoft.Compute/locations/operations/read`). In that case, the operation continues, too.
 */
const throwUnlessUnderWay = ({ operationState }: Operation, call: string, caught: unknown): void => {
  const status = operationState?.status;
  if (status !== 'failed' && status !== 'canceled') return;
  const answered = caught instanceof Error && caught.name === 'RestError';
  const error = answered
    ? toCloudfenceError(caught, call)
    : new Refused(`Azure accepted ${call}, but the operation ended with ${status}`, { cause: caught });
  if (!(error instanceof PermissionDenied)) throw error;
};

/** Detaches a disk from a machine, with a read of the disk right before and right after. */

export interface DetachRequest {
  readonly from: MachineTarget;
  readonly disk: DiskId;
  readonly mode: 'plain' | 'forced';
}

type Detach = (wanted: DetachRequest, permit: Permit, signal: AbortSignal) => Promise<void>;

/** A detach that waits for the other detaches of its call. */
interface Waiting {
  readonly wanted: DetachRequest;
  readonly permit: Permit;
  readonly signal: AbortSignal;
  readonly settle: (failure: CloudfenceError | null) => void;
}

const CALL = 'attachDetachDataDisks/action';

/**
 * Returns the function that detaches a disk from exactly one machine. A machine takes one operation at a time. So all
 * detaches from one machine that are requested at the same time are sent in one call, and each has its own result.
 *
 * Azure has no compare-and-swap condition for a detach. So the disks, and the machine that has the name now, are read
 * right before the call. The disks are read again if Azure rejects the call.
 * https://learn.microsoft.com/rest/api/compute/virtual-machines/attach-detach-data-disks
 *
 * @throws Unavailable, PermissionDenied, Refused, ProofExpired
 */
export const createDetach = (clients: AzureClients): Detach => {
  const calls = new Map<string, Waiting[]>();
  return ({ from, disk, mode }, permit, signal) =>
    new Promise((resolve, reject) => {
      const settle: Waiting['settle'] = (failure) => (failure ? reject(failure) : resolve());
      const one = { wanted: { from, disk, mode }, permit, signal, settle };
      const key = `${from.machine} ${from.incarnation ?? ''} ${mode}`;
      const others = calls.get(key);
      if (others) return void others.push(one);
      const call = [one];
      calls.set(key, call);
      setImmediate(() => {
        calls.delete(key);
        void detachTogether(clients, call);
      });
    });
};

interface Ready {
  readonly one: Waiting;
  readonly diskId: string;
  readonly path: MachinePath;
}

/**
 * Returns a signal that ends the shared work. If one caller aborts, the shared request ends, and the next look shows
 * the result to the others.
 */
const jointSignal = (all: readonly Waiting[]): AbortSignal => AbortSignal.any(all.map(({ signal }) => signal));

/** Sends one call for all disks that may be detached. It never rejects: each caller gets its own result. */
const detachTogether = async (clients: AzureClients, all: readonly Waiting[]): Promise<void> => {
  for (const { signal, settle } of all) if (signal.aborted) settle(toCloudfenceError(signal.reason, CALL));
  const [first, ...others] = all.filter(({ signal }) => !signal.aborted);
  if (!first) return;
  try {
    const ready = await settleOrKeep(clients, [first, ...others]);
    const [{ path } = { path: null }] = ready;
    if (path) await send(clients, path, ready);
  } catch (caught) {
    for (const { settle } of all) settle(toCloudfenceError(caught, CALL));
  }
};

/** Settles the disks that are already detached, and those that must not be detached. Returns the remaining ones. */
const settleOrKeep = async (clients: AzureClients, all: readonly [Waiting, ...Waiting[]]) => {
  const signal = jointSignal(all);
  const [holder, ...disks] = await Promise.all([
    readIncarnation(clients, all[0].wanted.from, { signal, withPowerState: false }),
    ...all.map((one) => readDisk(clients, one.wanted.disk, signal)),
  ]);
  return all.flatMap((one, nth): readonly Ready[] => {
    const disk = disks[nth] ?? null;
    if (!disk || !isHeldBy(disk, one.wanted.from.machine)) {
      one.settle(null);
      return [];
    }
    const why = whyNotDetached(disk, holder, one.wanted);
    if (why !== null || holder.said === 'other') {
      one.settle(new Refused(why ?? ''));
      return [];
    }
    return [{ one, diskId: disk.id ?? one.wanted.disk, path: holder.path }];
  });
};

/** Returns why the disk must not be detached: another machine has the name, or the disk must stay on this machine. */
const whyNotDetached = (disk: Disk, holder: NameOwner, { from, disk: id }: DetachRequest): string | null => {
  if (holder.said === 'other') return `${id} is attached to ${from.machine}, but ${holder.why}`;
  const isOsDisk = isSameDisk(holder.vm.storageProfile?.osDisk?.managedDisk?.id, id);
  const keep = isOsDisk ? 'OS disk' : whyDiskIsKept(from.machine, disk);
  return keep === null ? null : `Cloudfence does not detach ${id} from ${from.machine}: ${keep}`;
};

/** The call may be sent while all permits are valid, and its answer counts while all of them are. */
const jointPermit = (all: readonly Ready[]): Permit => ({
  check: () => all.forEach(({ one }) => one.permit.check()),
  ended: AbortSignal.any(all.map(({ one }) => one.permit.ended)),
});

const send = async (clients: AzureClients, path: MachinePath, ready: readonly Ready[]): Promise<void> => {
  const targets = ready.map(({ diskId, one }) => ({
    diskId,
    ...(one.wanted.mode === 'forced' && { detachOption: 'ForceDetach' }),
  }));
  const call = { name: CALL, permit: jointPermit(ready), signal: jointSignal(ready.map(({ one }) => one)) };
  try {
    await sendUnderPermit(clients, call, (client, options) => sendDetach(client, path, targets, options));
    for (const { one } of ready) one.settle(null);
  } catch (caught) {
    if (caught instanceof ProofExpired && ready.length > 1) return sendFirst(clients, path, ready, caught);
    if (ready.length > 1 && isDeclined(caught)) return sendOneByOne(clients, path, ready);
    if (!(caught instanceof Refused)) throw caught;
    await Promise.all(ready.map(({ one }) => confirmDetached(clients, one, caught)));
  }
};

const isDeclined = (caught: unknown): boolean => caught instanceof Refused || caught instanceof PermissionDenied;

/**
 * A single disk may have made Azure reject the call for all of them, so each is sent separately, with its own permit.
 */
const sendOneByOne = async (clients: AzureClients, path: MachinePath, ready: readonly Ready[]): Promise<void> => {
  for (const single of ready) {
    try {
      await send(clients, path, [single]);
    } catch (caught) {
      single.one.settle(toCloudfenceError(caught, CALL));
    }
  }
};

/**
 * The call has not been sent. The permit of the first disk may last longer than those of the others, so it is sent
 * alone.
 */
const sendFirst = async (
  clients: AzureClients,
  path: MachinePath,
  ready: readonly Ready[],
  expired: ProofExpired,
): Promise<void> => {
  for (const { one } of ready.slice(1)) one.settle(expired);
  await send(clients, path, ready.slice(0, 1));
};

const FORCE_REFUSED =
  '. Scale sets may refuse ForceDetach: the next run asks for a plain detach again, and `az vmss disk detach` ' +
  'does so by hand';

/** Azure rejects a call as a whole. So each disk is read to find out whether it is detached. */
const confirmDetached = async (
  clients: AzureClients,
  { wanted: { from, disk, mode }, signal, settle }: Waiting,
  refusal: Refused,
): Promise<void> => {
  const read = await readDisk(clients, disk, signal);
  const advice = mode === 'forced' && machinePath(from.machine)?.kind === 'instance' ? FORCE_REFUSED : '';
  const isHeld = read !== null && isHeldBy(read, from.machine);
  const says = `${refusal.message}; disk ${disk} is still attached to ${from.machine}${advice}`;
  settle(isHeld ? new Refused(says, { cause: refusal.cause }) : null);
};
