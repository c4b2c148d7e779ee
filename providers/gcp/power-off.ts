import { InvalidInput, Refused } from '../../fencing/errors.ts';
import type { MachineTarget } from '../../fencing/machine.ts';
import type { Permit } from '../../fencing/permit.ts';
import { writing } from './calls.ts';
import type { ComputeClients } from './client.ts';
import { translated } from './errors.ts';
import { instancePath } from './paths.ts';

/**
 * Stops this very incarnation without the time that a graceful shutdown may have. An instance with local SSDs is refused by
 * Compute Engine unless told to discard what is on them, and Cloudfence does not say so.
 * https://cloud.google.com/compute/docs/reference/rest/v1/instances/stop
 *
 * @throws Unavailable, Denied, Refused, ProofExpired, InvalidInput
 */
export const powerOff = async (clients: ComputeClients, { machine, incarnation }: MachineTarget, permit: Permit, signal: AbortSignal): Promise<void> => {
  const path = instancePath(machine);
  if (!path) throw new InvalidInput(`${machine} is no instance of Compute Engine`);
  if (incarnation === null) throw new Refused(`there is no ${machine} to be powered off`);
  await clients.permitted(permit, (requestId) =>
    translated(clients, 'compute.instances.stop', signal, () =>
      clients.instances.stop({ ...path, instance: incarnation, requestId, noGracefulShutdown: true }, writing(signal)),
    ),
  );
};
