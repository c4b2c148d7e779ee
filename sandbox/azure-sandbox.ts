import { azureActors } from './azure/actors.ts';
import { WATCH_NODES, watchNodes } from './azure/out-of-service-informer.ts';
import { emptyAzure, type WithAzure } from './azure/state.ts';
import { underlyingAzure } from './azure/underlying-cloud.ts';
import { apiServerOf, type ApiServer } from './cluster/api/server.ts';
import { clusterActors, startControlPlane } from './cluster/controllers/actors.ts';
import type { ClusterParts } from './cluster/cluster-world.ts';
import { reactionsOf } from './cluster/reactions.ts';
import { emptyCluster, storeOf } from './cluster/store.ts';
import { createWorld, type World } from './world.ts';

/** One world with a Kubernetes cluster whose nodes are machines of Azure. */
export type AzureParts = ClusterParts & WithAzure;
export type AzureWorld = World<AzureParts>;

export const SANDBOX_SUBSCRIPTION = '11112222-3333-4444-8555-666677778888';
const SANDBOX_SCOPE = { subscription: SANDBOX_SUBSCRIPTION, group: 'MC_sandbox', location: 'westeurope' } as const;
export const AZURE_DISK = 'disk.csi.azure.com';

/** Returns an empty cluster with a running control plane, in an empty resource group. */
export const createAzureSandbox = ({ seed, now }: { readonly seed: number; readonly now: number }): AzureWorld => {
  const parts: AzureParts = { cluster: emptyCluster(), azure: emptyAzure(SANDBOX_SCOPE) };
  const world: AzureWorld = createWorld<AzureParts>(
    { ...clusterActors<AzureParts>(underlyingAzure), ...azureActors(), [WATCH_NODES]: watchNodes },
    parts,
    { now, seed },
  );
  startControlPlane(world);
  world.schedule(WATCH_NODES, 5_000);
  return world;
};

/** The cluster's API server, for the HTTP server and the in-process client. */
export const apiOf = (
  world: AzureWorld,
  settings: Partial<Pick<ApiServer, 'users' | 'faults' | 'version'>> = {},
): ApiServer =>
  apiServerOf({ store: storeOf(world.parts.cluster), now: world.now, onWrite: reactionsOf(world), ...settings });
