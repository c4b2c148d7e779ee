import type { DiskId, MachineFacts, MachineId } from '../../../fencing/model/machine.ts';
import type { Check } from '../../check.ts';
import type { PermissionTrial } from '../../plugin.ts';
import { type ComputeClients, readCallOptions } from '../client.ts';
import { withCloudfenceErrors } from '../errors.ts';
import { diskPath, instancePath } from '../identity.ts';
import { gcpCloud } from '../index.ts';

/**
 * Asks Compute Engine for the permissions that a fence needs and returns the answers as lines for `cloudfence doctor`.
 */

/** Permissions are granted on a project, so a few machines are sufficient. */
const MOST_ASKED = 3;

const denied = (on: string, missing: readonly string[]): readonly string[] =>
  missing.length === 0 ? [] : [`${missing.join(' and ')} on ${on}`];

const missingAt = async (
  clients: ComputeClients,
  { machine, disks }: MachineFacts,
  wanted: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const disk = disks.find(({ keep }) => keep === null);
  const onMachine = missingMachinePermissions(clients, machine, wanted, signal);
  const onDisk =
    disk && wanted.includes('compute.instances.detachDisk')
      ? missingDiskPermissions(clients, disk.disk, ['compute.disks.use'], signal)
      : [];
  return [...denied(machine, await onMachine), ...denied(disk?.disk ?? '', await onDisk)];
};

/** Checks the permissions on machines of one project. @throws PermissionDenied, Unavailable */
export const destructiveCallChecks = async (
  clients: ComputeClients,
  machines: readonly MachineId[],
  { policy }: PermissionTrial,
  signal: AbortSignal,
): Promise<readonly Check[]> => {
  const wanted = [
    ...(policy.detach === 'never' ? [] : ['compute.instances.detachDisk']),
    ...(policy.unreachable === 'power-off' ? ['compute.instances.stop'] : []),
  ];
  if (wanted.length === 0) return [];
  const what = policy.unreachable === 'power-off' ? 'may detach disks and power off machines' : 'may detach disks';
  const facts = (await gcpCloud(clients).look(machines.slice(0, MOST_ASKED), { disks: true }, signal)).filter(
    ({ power }) => power !== 'missing' && power !== 'unknown',
  );
  if (facts.length === 0)
    return [{ what, verdict: 'warn', says: 'unknown, because none of its machines exists to check' }];
  const missing = (await Promise.all(facts.map((one) => missingAt(clients, one, wanted, signal)))).flat();
  if (missing.length > 0)
    return [
      {
        what,
        verdict: 'fail',
        says: `the credentials do not have ${missing.join('; ')}: grant the role in docs/gcp.md, "Permissions"`,
      },
    ];
  const checked = facts.map(({ machine }) => machine).join(', ');
  return [{ what, verdict: 'ok', says: `Compute Engine would allow ${wanted.join(', ')}; checked on ${checked}` }];
};

/**
 * Returns the wanted permissions that these credentials do not have on a machine. Anyone who knows a resource may call
 * this method. It only returns a list, and changes nothing. https://cloud.google.com/iam/docs/testing-permissions
 *
 * @throws Unavailable, PermissionDenied, Refused
 */
export const missingMachinePermissions = async (
  clients: ComputeClients,
  machine: MachineId,
  wanted: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const path = instancePath(machine);
  if (!path) return wanted;
  const { project, zone, instance: resource } = path;
  const asked = { project, zone, resource, testPermissionsRequestResource: { permissions: [...wanted] } };
  const [answer] = await withCloudfenceErrors(clients, 'compute.instances.testIamPermissions', signal, () =>
    clients.instances.testIamPermissions(asked, readCallOptions(signal)),
  );
  return notHeld(wanted, answer.permissions);
};

/**
 * Returns the wanted permissions that these credentials do not have on a disk. @throws Unavailable, PermissionDenied,
 * Refused
 */
export const missingDiskPermissions = async (
  clients: ComputeClients,
  disk: DiskId,
  wanted: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const path = diskPath(disk);
  if (!path) return wanted;
  const testPermissionsRequestResource = { permissions: [...wanted] };
  const { project, disk: resource } = path;
  const [answer] = await withCloudfenceErrors(clients, 'compute.disks.testIamPermissions', signal, () =>
    'zone' in path
      ? clients.disks.testIamPermissions(
          { project, zone: path.zone, resource, testPermissionsRequestResource },
          readCallOptions(signal),
        )
      : clients.regionDisks.testIamPermissions(
          { project, region: path.region, resource, testPermissionsRequestResource },
          readCallOptions(signal),
        ),
  );
  return notHeld(wanted, answer.permissions);
};

const notHeld = (wanted: readonly string[], held: readonly string[] | null | undefined): readonly string[] =>
  wanted.filter((one) => !(held ?? []).includes(one));
