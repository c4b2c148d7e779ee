import type { DiskId, MachineId } from '../../fencing/machine.ts';
import { reading } from './calls.ts';
import type { ComputeClients } from './client.ts';
import { translated } from './errors.ts';
import { diskPath, instancePath } from './paths.ts';

/**
 * Those of the wanted permissions that these credentials do not have on a machine. Whoever knows a resource may ask; the
 * answer is a list, and no call is made in anybody's name. https://cloud.google.com/iam/docs/testing-permissions
 *
 * @throws Unavailable, Denied, Refused
 */
export const missingOnMachine = async (clients: ComputeClients, machine: MachineId, wanted: readonly string[], signal: AbortSignal): Promise<readonly string[]> => {
  const path = instancePath(machine);
  if (!path) return wanted;
  const { project, zone, instance: resource } = path;
  const asked = { project, zone, resource, testPermissionsRequestResource: { permissions: [...wanted] } };
  const [answer] = await translated(clients, 'compute.instances.testIamPermissions', signal, () => clients.instances.testIamPermissions(asked, reading(signal)));
  return without(wanted, answer.permissions);
};

/** The same on a disk. @throws Unavailable, Denied, Refused */
export const missingOnDisk = async (clients: ComputeClients, disk: DiskId, wanted: readonly string[], signal: AbortSignal): Promise<readonly string[]> => {
  const path = diskPath(disk);
  if (!path) return wanted;
  const testPermissionsRequestResource = { permissions: [...wanted] };
  const { project, disk: resource } = path;
  const [answer] = await translated(clients, 'compute.disks.testIamPermissions', signal, () =>
    'zone' in path
      ? clients.disks.testIamPermissions({ project, zone: path.zone, resource, testPermissionsRequestResource }, reading(signal))
      : clients.regionDisks.testIamPermissions({ project, region: path.region, resource, testPermissionsRequestResource }, reading(signal)),
  );
  return without(wanted, answer.permissions);
};

const without = (wanted: readonly string[], held: readonly string[] | null | undefined): readonly string[] => wanted.filter((one) => !(held ?? []).includes(one));
