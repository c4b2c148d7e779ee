import { azureCloud } from '../../../providers/azure/index.ts';
import { azureClients, type ClientOptions } from '../../../providers/azure/client.ts';
import { azureActors } from '../../../sandbox/azure/actors.ts';
import { inProcessClient } from '../../../sandbox/azure/in-process-client.ts';
import type { AzureCloudWorld, SimulationSettings, WithAzure } from '../../../sandbox/azure/state.ts';
import { emptyAzure } from '../../../sandbox/azure/state.ts';
import { createWorld } from '../../../sandbox/world.ts';

export const subscription = 'A1B2c3d4-0000-4000-8000-00000000aaaa';
export const group = 'MC_blue';
export const MINUTE = 60_000;
export const NOW = Date.UTC(2026, 10, 21);

/** The prefix of IDs of this subscription and group, in lower case. */
export const prefix =
  `/subscriptions/${subscription}/resourcegroups/${group}/providers/microsoft.compute`.toLowerCase();

export const credential = { getToken: async () => ({ token: 'test', expiresOnTimestamp: Number.MAX_SAFE_INTEGER }) };

/** A separate simulated Azure, on a day in November. */
export const azureWorld = (knobs: Partial<SimulationSettings> = {}): AzureCloudWorld =>
  createWorld<WithAzure>(
    azureActors(),
    { azure: emptyAzure({ subscription, group, location: 'westeurope' }, knobs) },
    { now: NOW, seed: 1 },
  );

/** Operations are requested twice at once, because the test advances virtual time. */
export const polling = { everyMs: 1, times: 2 };

/** The SDK on that Azure, without a network. */
export const clientsOf = (
  world: AzureCloudWorld,
  more: Partial<ClientOptions> & { readonly arrived?: (url: string) => void } = {},
) => {
  const { arrived, ...options } = more;
  return azureClients({ subscription, credential, httpClient: inProcessClient(world, arrived), polling, ...options });
};

export const cloudOf = (world: AzureCloudWorld, clients = clientsOf(world)) => azureCloud(clients);

export const patient = (): AbortSignal => new AbortController().signal;
