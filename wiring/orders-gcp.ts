import type { MachineFacts, MachineId } from '../fencing/machine.ts';
import { gcpCloud, missingOnDisk, missingOnMachine, type ComputeClients } from '../providers/gcp/index.ts';
import type { Check } from './check.ts';
import type { Trial } from './cloud-kit.ts';

/** What Compute Engine says of the permissions for a fence, as lines of the doctor. */

/** As they are granted on a project, a few machines stand for all. */
const MOST_ASKED = 3;

const denied = (on: string, missing: readonly string[]): readonly string[] => (missing.length === 0 ? [] : [`${missing.join(' and ')} on ${on}`]);

const missingAt = async (clients: ComputeClients, { machine, disks }: MachineFacts, wanted: readonly string[], signal: AbortSignal): Promise<readonly string[]> => {
  const disk = disks.find(({ keep }) => keep === null);
  const onMachine = missingOnMachine(clients, machine, wanted, signal);
  const onDisk = disk && wanted.includes('compute.instances.detachDisk') ? missingOnDisk(clients, disk.disk, ['compute.disks.use'], signal) : [];
  return [...denied(machine, await onMachine), ...denied(disk?.disk ?? '', await onDisk)];
};

/** Machines of one project. @throws Denied, Unavailable */
export const orderChecks = async (clients: ComputeClients, machines: readonly MachineId[], { policy }: Trial, signal: AbortSignal): Promise<readonly Check[]> => {
  const wanted = [...(policy.detach === 'never' ? [] : ['compute.instances.detachDisk']), ...(policy.unreachable === 'power-off' ? ['compute.instances.stop'] : [])];
  if (wanted.length === 0) return [];
  const what = policy.unreachable === 'power-off' ? 'may detach disks and power off machines' : 'may detach disks';
  const facts = (await gcpCloud(clients).look(machines.slice(0, MOST_ASKED), { disks: true }, signal)).filter(({ power }) => power !== 'missing' && power !== 'unknown');
  if (facts.length === 0) return [{ what, verdict: 'warn', says: 'none of its machines is there to ask for' }];
  const missing = (await Promise.all(facts.map((one) => missingAt(clients, one, wanted, signal)))).flat();
  if (missing.length > 0) return [{ what, verdict: 'fail', says: `${missing.join('; ')} IS MISSING: give the role of docs/gcp.md, "Permissions"` }];
  return [{ what, verdict: 'ok', says: `${wanted.join(', ')} would be allowed, asked for ${facts.map(({ machine }) => machine).join(', ')}` }];
};
