import type { Cloud } from '../../../fencing/model/cloud.ts';
import type { MachineId } from '../../../fencing/model/machine.ts';
import { driverFaultOf } from '../errors.ts';
import { readHints } from '../events/read-hints.ts';
import { viewDisks } from '../disks.ts';
import { gcpCloud } from '../index.ts';
import { computeClients, type ComputeClients, describeCredentials } from '../client.ts';
import { instancePath } from '../identity.ts';
import { gcpAccess } from './access.ts';
import type { OnRequestsSent, OpenedCloud, CloudProbe } from '../../plugin.ts';
import { destructiveCallChecks } from './permissions.ts';

export interface GcpOptions {
  /** URL of another endpoint. Over plain HTTP, no credentials are sent. */
  readonly endpoint: string | null;
  readonly newRequestId: () => string;
  readonly onRequestsSent?: OnRequestsSent | undefined;
}

/** Probes only the credentials. The path of a machine contains its project and zone, and no machine is known yet. */
const probeOf = (clients: ComputeClients): CloudProbe => ({
  where: 'gcp',
  ask: async (signal) =>
    `${await describeCredentials(clients, signal)}; whether they can read instances and disks is known only ` +
    'with the first machine',
  destructiveCalls: async () => [],
});

const projectOf = (machine: MachineId): string => instancePath(machine)?.project ?? '';

/** Probes one project. One machine is sufficient for all machines of its project. */
const projectProbe = (
  project: string,
  [machine, ...others]: readonly [MachineId, ...MachineId[]],
  clients: ComputeClients,
  { look }: Cloud,
): CloudProbe => ({
  where: `gcp ${project}`,
  ask: async (signal) => {
    const [facts] = await look([machine], { disks: true }, signal);
    return `can read ${machine} and its disks (${facts?.power ?? 'unknown'})`;
  },
  destructiveCalls: (trial, signal) => destructiveCallChecks(clients, [machine, ...others], trial, signal),
  notTried:
    'Compute Engine has no dry run, so only the permissions were checked: an organization policy or a service ' +
    'perimeter may still refuse a call',
});

export const openGcp = async ({ endpoint, newRequestId, onRequestsSent }: GcpOptions): Promise<OpenedCloud> => {
  const clients = computeClients({ newRequestId, onRequestsSent, ...(endpoint !== null && { endpoint }) });
  const cloud = gcpCloud(clients);
  return {
    cloud,
    readHints,
    viewDisks: (volumes, signal) => viewDisks(clients, volumes, signal),
    driverFaultOf,
    drill: async () => (await import('../drill.ts')).gcpDrill(clients, endpoint),
    probes: [probeOf(clients)],
    probesOfMachines: async (machines) =>
      [...Map.groupBy(new Set(machines), projectOf)].flatMap(([project, [first, ...rest]]) =>
        project === '' || first === undefined ? [] : [projectProbe(project, [first, ...rest], clients, cloud)],
      ),
    access: gcpAccess({ endpoint }),
  };
};
