import { Unavailable } from '../../fencing/model/errors.ts';
import type { MachineFacts, MachineId } from '../../fencing/model/machine.ts';
import { type Instance, readOwnDisks } from './disks.ts';
import { type ComputeClients, readCallOptions } from './client.ts';
import { lookAtEach } from '../each-machine.ts';
import { isNotFound, withCloudfenceErrors } from './errors.ts';
import { missingMachineFacts, knownMachineFacts, unknownMachineFacts } from './power.ts';
import { instancePath, type InstancePath, NUMERIC_ID } from './identity.ts';

/**
 * Reads each instance separately. The only list call for selected instances would need a filter by name. Leaves out
 * instances whose read failed.
 *
 * @throws Unavailable, PermissionDenied, Refused, if every read failed
 */
export const lookAtMachines = (
  clients: ComputeClients,
  machines: readonly MachineId[],
  scope: { readonly disks: boolean },
  signal: AbortSignal,
): Promise<readonly MachineFacts[]> => lookAtEach(machines, (machine) => lookAt(clients, machine, scope, signal));

const lookAt = async (
  clients: ComputeClients,
  machine: MachineId,
  scope: { readonly disks: boolean },
  signal: AbortSignal,
): Promise<MachineFacts> => {
  const path = instancePath(machine);
  if (!path) return unknownMachineFacts(machine);
  const instance = await readInstance(clients, path, signal);
  if (!instance) return missingMachineFacts(machine, path);
  return knownMachineFacts(machine, path, instance, scope.disks ? await readOwnDisks(clients, instance, signal) : null);
};

/** The end of a link to a zone. */
const ZONE = /(?:^|\/)zones\/([^/]+)$/;

/** Returns whether the answer is about the requested instance. The SDK accepts any JSON as an instance. */
const isThat = ({ id, name, zone }: Instance, path: InstancePath): boolean =>
  NUMERIC_ID.test(String(id)) &&
  [name, String(id)].includes(path.instance) &&
  (!zone || ZONE.exec(zone)?.[1] === path.zone);

/**
 * Returns the instance, or null if Compute Engine says that it does not exist. The path may contain its numeric id.
 *
 * @throws Unavailable, PermissionDenied, Refused
 */
export const readInstance = async (
  clients: ComputeClients,
  path: InstancePath,
  signal: AbortSignal,
): Promise<Instance | null> => {
  try {
    const [instance] = await withCloudfenceErrors(clients, 'compute.instances.get', signal, () =>
      clients.instances.get(path, readCallOptions(signal)),
    );
    if (isThat(instance, path)) return instance;
    throw new Unavailable(
      `the response to compute.instances.get is not about ${path.instance}, so it is not from Compute Engine`,
    );
  } catch (caught) {
    if (caught instanceof Error && isNotFound(caught.cause)) return null;
    throw caught;
  }
};
