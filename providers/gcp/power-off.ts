import { InvalidInput, Refused } from '../../fencing/errors.ts';
import type { MachineTarget } from '../../fencing/machine.ts';
import type { Permit } from '../../fencing/permit.ts';
import { writing } from './calls.ts';
import type { ComputeClients } from './client.ts';
import { translated } from './errors.ts';
import { instanceAt } from './look.ts';
import { instancePath, type InstancePath } from './paths.ts';

const CALL = 'compute.instances.stop';

/**
 * Stops this very incarnation without the time that a graceful shutdown may have. Compute Engine asks what is to become of
 * local SSDs: they are kept, and where they cannot be, the stop is refused. To give them up is a person's decision.
 * https://cloud.google.com/compute/docs/reference/rest/v1/instances/stop
 *
 * @throws Unavailable, Denied, Refused, ProofExpired, InvalidInput
 */
export const powerOff = async (clients: ComputeClients, { machine, incarnation }: MachineTarget, permit: Permit, signal: AbortSignal): Promise<void> => {
  const named = instancePath(machine);
  if (!named) throw new InvalidInput(`${machine} is no instance of Compute Engine`);
  if (incarnation === null) throw new Refused(`there is no ${machine} to be powered off`);
  const path = { ...named, instance: incarnation };
  try {
    await ordered(clients, path, permit, signal);
  } catch (refusal) {
    throw refusal instanceof Refused ? await explained(clients, machine, path, refusal, signal) : refusal;
  }
};

const ordered = (clients: ComputeClients, path: InstancePath, permit: Permit, signal: AbortSignal): Promise<unknown> =>
  clients.permitted({ name: CALL, permit, signal }, (sending) =>
    translated(clients, CALL, sending.signal, () =>
      clients.instances.stop({ ...path, requestId: sending.requestId, noGracefulShutdown: true, discardLocalSsd: false }, writing(sending.signal)),
    ),
  );

/** Its local SSDs are the likeliest reason of a machine that has any, and people can do something about it. */
const explained = async (clients: ComputeClients, machine: string, path: InstancePath, refusal: Refused, signal: AbortSignal): Promise<Refused> => {
  const instance = await instanceAt(clients, path, signal);
  if (!instance?.disks?.some(({ type }) => type === 'SCRATCH')) return refusal;
  const why = 'it has local SSDs, and what is on them is not given up without a person: stop it by hand with --discard-local-ssd';
  return new Refused(`${machine} is not powered off (${refusal.message}): ${why}`, { cause: refusal.cause });
};
