import { InvalidConfiguration } from '../../../fencing/model/errors.ts';
import { driverFaultOf } from '../errors.ts';
import { readHints } from '../events/read-hints.ts';
import { armScope, azureClients, type AzureClients } from '../client.ts';
import { lazyCredential } from '../rest.ts';
import { viewDisks } from '../disks.ts';
import { azureCloud, type AzureCloud } from '../index.ts';
import { destructiveCallChecks, type PermissionOptions, probeReads } from './permissions.ts';
import { azureAccess } from './access.ts';
import type { OnRequestsSent, OpenedCloud, CloudProbe } from '../../plugin.ts';

export interface AzureOptions {
  readonly subscription: string | null;
  /** URL of another endpoint. Over plain HTTP, no token is sent. */
  readonly endpoint: string | null;
  readonly onRequestsSent?: OnRequestsSent | undefined;
}

/**
 * The Azure cloud with its own `expand`. An event may name a scale set, and the reader's caller uses `expand` to
 * replace the set with its machines.
 */
export interface OpenedAzureCloud extends OpenedCloud {
  readonly cloud: AzureCloud;
  readonly expand: AzureCloud['expand'];
}

const inWords = {
  everywhere: 'can read machines and disks in the whole subscription',
  'somewhere-at-most':
    'cannot read the whole subscription. Whether the role includes a machine is known only when ' +
    'Cloudfence looks at that machine',
} as const;

const probeOf = (clients: AzureClients, options: PermissionOptions): CloudProbe => ({
  where: `azure ${clients.subscription}`,
  ask: async (signal) => inWords[await probeReads(clients, signal)],
  destructiveCalls: (trial, signal) => destructiveCallChecks(options, trial, signal),
  notTried:
    'Azure: there is no dry run, so the assigned roles are read; a lock, a policy, or a deny assignment may ' +
    'still refuse a call',
});

export const openAzure = async ({
  subscription,
  endpoint,
  onRequestsSent,
}: AzureOptions): Promise<OpenedAzureCloud> => {
  if (subscription === null) throw new InvalidConfiguration(['no subscription is set: set AZURE_SUBSCRIPTION_ID']);
  const credential = lazyCredential();
  const clients = azureClients({
    subscription,
    credential,
    onRequestsSent,
    credentials: { scopes: [armScope(endpoint)] },
    ...(endpoint !== null && { endpoint }),
  });
  const cloud = azureCloud(clients);
  const access = azureAccess({ credential, endpoint, subscription, now: Date.now });
  return {
    cloud,
    readHints,
    viewDisks: (volumes, signal) => viewDisks(clients, volumes, signal),
    driverFaultOf,
    expand: cloud.expand,
    drill: async () => (await import('../drill.ts')).azureDrill(clients, { credential, endpoint }),
    probes: [probeOf(clients, { credential, endpoint })],
    access,
  };
};
