import { z } from 'zod';
import { nonEmptyText } from '../../fencing/model/foreign-text.ts';
import {
  type CloudfenceError,
  PermissionDenied,
  InvalidInput,
  Refused,
  Unavailable,
} from '../../fencing/model/errors.ts';
import type { DiskId, MachineTarget } from '../../fencing/model/machine.ts';
import type { Permit } from '../../fencing/model/permit.ts';
import { type ComputeClients, waitCallOptions, destructiveCallOptions } from './client.ts';
import { readDisk, isAttachedTo, diskIdOf, hasOnlyKnownUsers } from './disks.ts';
import { withCloudfenceErrors } from './errors.ts';
import { instancePath, type InstancePath } from './identity.ts';
import { readInstance } from './look.ts';

/** The destructive calls of Compute Engine, each sent once and with a permit. */

const DETACH = 'compute.instances.detachDisk';

/**
 * Detaches the disk from exactly this incarnation. The numeric id instead of the name is the only compare-and-swap
 * condition that Compute Engine offers. Compute Engine has no forced detach, and also detaches disks from a running
 * guest. So `forced` makes the same call. https://cloud.google.com/compute/docs/reference/rest/v1/instances/detachDisk
 *
 * @throws Unavailable, PermissionDenied, Refused, ProofExpired, InvalidInput
 */
export const detachDisk = async (
  clients: ComputeClients,
  { machine, incarnation }: MachineTarget,
  disk: DiskId,
  permit: Permit,
  signal: AbortSignal,
): Promise<void> => {
  const named = instancePath(machine);
  if (!named) throw new InvalidInput(`${machine} is not an instance of Compute Engine`);
  const deviceName =
    incarnation === null ? null : await deviceOf(clients, { ...named, instance: incarnation }, disk, signal);
  if (incarnation === null || deviceName === null) return confirmDetached(clients, named, disk, null, signal);
  const refusal = await orderedDetach(clients, { ...named, instance: incarnation }, deviceName, permit, signal);
  if (refusal) await confirmDetached(clients, named, disk, refusal, signal);
};

/**
 * Returns the device name of the disk, which a detach requires and only the instance knows. Returns null if the
 * instance does not have the disk.
 */
const deviceOf = async (
  clients: ComputeClients,
  path: InstancePath,
  disk: DiskId,
  signal: AbortSignal,
): Promise<string | null> => {
  const instance = await readInstance(clients, path, signal);
  return instance?.disks?.find((attached) => diskIdOf(attached) === disk)?.deviceName ?? null;
};

/**
 * Returns null if the disk is detached or being detached. Otherwise returns why Compute Engine rejected the call, which
 * may be that the disk was already detached.
 */
const orderedDetach = async (
  clients: ComputeClients,
  path: InstancePath,
  deviceName: string,
  permit: Permit,
  signal: AbortSignal,
): Promise<Refused | null> => {
  try {
    const [{ latestResponse }] = await clients.permitted({ name: DETACH, permit, signal }, (sending) =>
      withCloudfenceErrors(clients, DETACH, sending.signal, () =>
        clients.instances.detachDisk(
          { ...path, deviceName, requestId: sending.requestId },
          destructiveCallOptions(sending.signal),
        ),
      ),
    );
    const failure = errorOf(await ended(clients, path, latestResponse, signal), DETACH);
    if (failure) throw failure;
    return null;
  } catch (caught) {
    if (caught instanceof Refused) return caught;
    throw caught;
  }
};

/**
 * Checks the disk itself, because a refusal may mean "already detached". The disk lists its users by name, so its
 * answer may be about a later incarnation.
 */
const confirmDetached = async (
  clients: ComputeClients,
  machine: InstancePath,
  id: DiskId,
  refusal: Refused | null,
  signal: AbortSignal,
): Promise<void> => {
  const { disk } = await readDisk(clients, id, signal);
  if (disk === null || (!isAttachedTo(disk, machine) && hasOnlyKnownUsers(disk))) return;
  if (refusal)
    throw new Refused(`Compute Engine rejected ${DETACH}, and ${id} may still be attached to ${machine.instance}`, {
      cause: refusal,
    });
  throw new Refused(
    `${id} may be attached to ${machine.instance}, but the intended machine does not have it: Cloudfence sent nothing`,
  );
};

const STOP = 'compute.instances.stop';

/**
 * Stops exactly this incarnation, without the time for a graceful shutdown. Compute Engine requires a choice about
 * local SSDs. Cloudfence keeps them. If they cannot be kept, Compute Engine rejects the stop. Only a person may decide
 * to discard them. https://cloud.google.com/compute/docs/reference/rest/v1/instances/stop
 *
 * @throws Unavailable, PermissionDenied, Refused, ProofExpired, InvalidInput
 */
export const powerOffMachine = async (
  clients: ComputeClients,
  { machine, incarnation }: MachineTarget,
  permit: Permit,
  signal: AbortSignal,
): Promise<void> => {
  const named = instancePath(machine);
  if (!named) throw new InvalidInput(`${machine} is not an instance of Compute Engine`);
  if (incarnation === null) throw new Refused(`Cloudfence does not power off ${machine}, because it does not exist`);
  const path = { ...named, instance: incarnation };
  try {
    await orderedStop(clients, path, permit, signal);
  } catch (refusal) {
    throw refusal instanceof Refused ? await explained(clients, machine, path, refusal, signal) : refusal;
  }
};

const orderedStop = (
  clients: ComputeClients,
  path: InstancePath,
  permit: Permit,
  signal: AbortSignal,
): Promise<unknown> =>
  clients.permitted({ name: STOP, permit, signal }, (sending) =>
    withCloudfenceErrors(clients, STOP, sending.signal, () =>
      clients.instances.stop(
        { ...path, requestId: sending.requestId, noGracefulShutdown: true, discardLocalSsd: false },
        destructiveCallOptions(sending.signal),
      ),
    ),
  );

/**
 * Adds the likely reason to a refusal: if the machine has local SSDs, they are usually the reason, and people can
 * resolve it.
 */
const explained = async (
  clients: ComputeClients,
  machine: string,
  path: InstancePath,
  refusal: Refused,
  signal: AbortSignal,
): Promise<Refused> => {
  const instance = await readInstance(clients, path, signal);
  if (!instance?.disks?.some(({ type }) => type === 'SCRATCH')) return refusal;
  const why =
    'the machine has local SSDs, and only a person may discard their data: stop the machine yourself with ' +
    '--discard-local-ssd';
  return new Refused(`Compute Engine did not power off ${machine} (${refusal.message}): ${why}`, {
    cause: refusal.cause,
  });
};

/**
 * A call to Compute Engine is finished when its operation is finished.
 * https://cloud.google.com/compute/docs/api/how-tos/api-requests-responses#handling_api_responses
 */

const operation = z.object({
  name: nonEmptyText,
  status: z.string(),
  error: z.object({ errors: z.array(z.object({ code: z.string().nullish() })).nullish() }).nullish(),
  httpErrorStatusCode: z.number().nullish(),
});

type Operation = z.infer<typeof operation>;

const operationIn = (answer: unknown, call: string): Operation => {
  const read = operation.safeParse(answer);
  if (read.success) return read.data;
  throw new Unavailable(`the response to ${call} is not an operation`, { cause: read.error });
};

/** The number of waits. A wait may return before the operation is finished, and a busy server returns earlier. */
const WAITS = 3;

/**
 * Returns the operation that a call began, either finished or in its state after some waits. The caller looks again in
 * any case.
 *
 * @throws Unavailable, PermissionDenied, Refused
 */
const ended = async (
  clients: ComputeClients,
  { project, zone }: InstancePath,
  begun: unknown,
  signal: AbortSignal,
): Promise<Operation> => {
  let last = operationIn(begun, 'the call');
  for (let n = 0; n < WAITS && last.status !== 'DONE'; n += 1) {
    const request = { project, zone, operation: last.name };
    const [answer] = await withCloudfenceErrors(clients, 'compute.zoneOperations.wait', signal, () =>
      clients.operations.wait(request, waitCallOptions(signal)),
    );
    last = operationIn(answer, 'compute.zoneOperations.wait');
  }
  return last;
};

/** Error codes of operations. Other codes are classified by the HTTP status of the operation. */
const BUSY: ReadonlySet<string> = new Set([
  'INTERNAL_ERROR',
  'QUOTA_EXCEEDED',
  'RESOURCE_NOT_READY',
  'RESOURCE_OPERATION_RATE_EXCEEDED',
  'SERVICE_UNAVAILABLE',
  'TIMEOUT',
]);
const DENIED: ReadonlySet<string> = new Set(['PERMISSIONS_ERROR']);

/** Returns the error of a finished operation, or null. */
const errorOf = ({ error, httpErrorStatusCode }: Operation, call: string): CloudfenceError | null => {
  const code = error?.errors?.[0]?.code;
  const status = httpErrorStatusCode ?? 0;
  if (code == null && status < 400) return null;
  const message = `the operation of ${call} ended with ${code ?? status}`;
  const options = { cause: error };
  if (code != null && DENIED.has(code)) return new PermissionDenied(message, options);
  if (code != null && BUSY.has(code)) return new Unavailable(message, options);
  if (status === 401 || status === 403) return new PermissionDenied(message, options);
  return status === 429 || status >= 500 ? new Unavailable(message, options) : new Refused(message, options);
};
