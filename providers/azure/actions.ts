import { PermissionDenied, Refused } from '../../fencing/model/errors.ts';
import type { MachineTarget } from '../../fencing/model/machine.ts';
import type { Permit } from '../../fencing/model/permit.ts';
import { type PermittedCall, underPermit } from '../../transport/under-permit.ts';
import type { AzureClients, OperationPolling } from './client.ts';
import { toCloudfenceError } from './errors.ts';
import { type Operation, type CallOptions, sendPowerOff, readIncarnation } from './machines.ts';
import { statusesOf } from './power.ts';

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
