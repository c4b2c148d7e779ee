import { InvalidConfiguration } from '../fencing/errors.ts';
import { readHints } from '../providers/gcp/events/read-hints.ts';
import { computeClients, credentialsFound, gcpCloud, type ComputeClients } from '../providers/gcp/index.ts';
import type { CloudAccess, CloudKit, CloudProbe } from './cloud-kit.ts';

export interface GcpOptions {
  /** URL of another endpoint; over plain http no credentials are sent. */
  readonly endpoint: string | null;
  readonly newRequestId: () => string;
}

/** A machine names its own project and zone, and there is none to ask for before one is known. */
const probeOf = (clients: ComputeClients): CloudProbe => ({
  where: 'gcp',
  ask: async (signal) => `${await credentialsFound(clients, signal)}; whether they may read instances and disks shows with the first machine`,
});

export const openGcp = async ({ endpoint, newRequestId }: GcpOptions): Promise<CloudKit> => {
  const clients = computeClients({ newRequestId, ...(endpoint !== null && { endpoint }) });
  return { cloud: gcpCloud(clients), readHints, probes: [probeOf(clients)], access };
};

const notYet = async (way: string): Promise<never> => {
  throw new InvalidConfiguration([`Google Cloud gives no access to clusters by ${way}: name a kubeconfig`]);
};

const access: CloudAccess = {
  managedCluster: () => notYet('the name of a managed cluster'),
  secret: () => notYet('a secret'),
  parameter: () => notYet('a parameter'),
};
