import type { DefaultAzureCredential } from '@azure/identity';
import { InvalidConfiguration } from '../fencing/errors.ts';
import { readHints } from '../providers/azure/events/read-hints.ts';
import { azureClients, azureCloud, probe, type AzureClients, type AzureCloud } from '../providers/azure/index.ts';
import type { CloudAccess, CloudKit, CloudProbe } from './cloud-kit.ts';

export interface AzureOptions {
  readonly subscription: string | null;
  /** URL of another endpoint; over plain http no token is sent. */
  readonly endpoint: string | null;
}

/** An event may speak of a scale set: whoever reads hints puts its machines in its place, with the cloud's `expand`. */
export interface AzureKit extends CloudKit {
  readonly cloud: AzureCloud;
}

const usualCredential = async (): Promise<DefaultAzureCredential> => new (await import('@azure/identity')).DefaultAzureCredential();

/** Loaded by the first request that needs a token. */
const lazyCredential = () => {
  let opened: Promise<DefaultAzureCredential> | null = null;
  const getToken: DefaultAzureCredential['getToken'] = async (scopes, options) => {
    opened ??= usualCredential();
    return (await opened).getToken(scopes, options);
  };
  return { getToken };
};

const inWords = {
  everywhere: 'machines and disks of the whole subscription may be read',
  'somewhere-at-most': 'the role does not reach over the whole subscription; whether it reaches a machine shows with that machine',
} as const;

const probeOf = (clients: AzureClients): CloudProbe => ({
  where: `azure ${clients.subscription}`,
  ask: async (signal) => `${inWords[await probe(clients, signal)]}; Azure has no dry run, so whether detaching is allowed shows with the first detach`,
});

export const openAzure = async ({ subscription, endpoint }: AzureOptions): Promise<AzureKit> => {
  if (subscription === null) throw new InvalidConfiguration(['no subscription: set AZURE_SUBSCRIPTION_ID']);
  const clients = azureClients({ subscription, credential: lazyCredential(), ...(endpoint !== null && { endpoint }) });
  return { cloud: azureCloud(clients), readHints, probes: [probeOf(clients)], access };
};

const notYet = async (way: string): Promise<never> => {
  throw new InvalidConfiguration([`Azure gives no access to clusters by ${way}: name a kubeconfig`]);
};

const access: CloudAccess = {
  managedCluster: () => notYet('the name of a managed cluster'),
  secret: () => notYet('a secret'),
  parameter: () => notYet('a parameter'),
};
