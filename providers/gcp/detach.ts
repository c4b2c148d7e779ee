import { InvalidInput, Refused } from '../../fencing/errors.ts';
import type { DiskId, MachineTarget } from '../../fencing/machine.ts';
import type { Permit } from '../../fencing/permit.ts';
import { sourceOf } from './attached-disks.ts';
import { writing } from './calls.ts';
import type { ComputeClients } from './client.ts';
import { diskById, names, tellsItsUsers } from './disk-side.ts';
import { translated } from './errors.ts';
import { instanceAt } from './look.ts';
import { ended, errorOf } from './operation.ts';
import { instancePath, type InstancePath } from './paths.ts';

const CALL = 'compute.instances.detachDisk';

/**
 * Detaches the disk from this very incarnation: the numeric id in the place of the name is the only compare-and-swap that
 * Compute Engine has. It knows no force either, and detaches from a running guest just the same: `forced` is the same call.
 * https://cloud.google.com/compute/docs/reference/rest/v1/instances/detachDisk
 *
 * @throws Unavailable, Denied, Refused, ProofExpired, InvalidInput
 */
export const detach = async (clients: ComputeClients, { machine, incarnation }: MachineTarget, disk: DiskId, permit: Permit, signal: AbortSignal): Promise<void> => {
  const named = instancePath(machine);
  if (!named) throw new InvalidInput(`${machine} is no instance of Compute Engine`);
  const deviceName = incarnation === null ? null : await deviceOf(clients, { ...named, instance: incarnation }, disk, signal);
  if (incarnation === null || deviceName === null) return confirmDetached(clients, named, disk, null, signal);
  const refusal = await ordered(clients, { ...named, instance: incarnation }, deviceName, permit, signal);
  if (refusal) await confirmDetached(clients, named, disk, refusal, signal);
};

/** Disks are detached by the name of the device, which only the instance knows; null when it does not have the disk. */
const deviceOf = async (clients: ComputeClients, path: InstancePath, disk: DiskId, signal: AbortSignal): Promise<string | null> => {
  const instance = await instanceAt(clients, path, signal);
  return instance?.disks?.find((attached) => sourceOf(attached) === disk)?.deviceName ?? null;
};

/** Null when the disk is gone, or going; else why Compute Engine declined: perhaps because it was gone already. */
const ordered = async (clients: ComputeClients, path: InstancePath, deviceName: string, permit: Permit, signal: AbortSignal): Promise<Refused | null> => {
  try {
    const [{ latestResponse }] = await clients.permitted({ name: CALL, permit, signal }, (sending) =>
      translated(clients, CALL, sending.signal, () => clients.instances.detachDisk({ ...path, deviceName, requestId: sending.requestId }, writing(sending.signal))),
    );
    const failure = errorOf(await ended(clients, path, latestResponse, signal), CALL);
    if (failure) throw failure;
    return null;
  } catch (caught) {
    if (caught instanceof Refused) return caught;
    throw caught;
  }
};

/** A refusal may mean "already detached": the disk itself says. Its users are names, so it speaks for a later incarnation as well. */
const confirmDetached = async (clients: ComputeClients, machine: InstancePath, id: DiskId, refusal: Refused | null, signal: AbortSignal): Promise<void> => {
  const { disk } = await diskById(clients, id, signal);
  if (disk === null || (!names(disk, machine) && tellsItsUsers(disk))) return;
  if (refusal) throw new Refused(`${CALL} was declined and ${id} may still name ${machine.instance}`, { cause: refusal });
  throw new Refused(`${id} may name ${machine.instance}, but the machine that was meant does not have it: nothing was sent`);
};
