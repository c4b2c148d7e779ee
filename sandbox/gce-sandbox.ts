import { apiServerOf, type ApiServer } from './cluster/api/server.ts';
import { clusterActors, startControlPlane } from './cluster/controllers/actors.ts';
import type { ClusterParts } from './cluster/cluster-world.ts';
import { reactionsOf } from './cluster/reactions.ts';
import { emptyCluster, storeOf } from './cluster/store.ts';
import { gceActors } from './gce/actors.ts';
import { emptyGce, type WithGce } from './gce/state.ts';
import { underlyingGce } from './gce/underlying-cloud.ts';
import { createWorld, type World } from './world.ts';

/** One world with a Kubernetes cluster whose nodes are instances of Compute Engine. */
export type GceParts = ClusterParts & WithGce;
export type WholeGceWorld = World<GceParts>;

export const SANDBOX_PROJECT = {
  project: 'sandbox-project',
  projectNumber: '123456789012',
  region: 'europe-west1',
} as const;
export const PERSISTENT_DISK = 'pd.csi.storage.gke.io';

/** Returns an empty cluster with a running control plane, in an empty project. */
export const createGceSandbox = ({ seed, now }: { readonly seed: number; readonly now: number }): WholeGceWorld => {
  const parts: GceParts = { cluster: emptyCluster(), gce: emptyGce(SANDBOX_PROJECT) };
  const world: WholeGceWorld = createWorld<GceParts>(
    { ...clusterActors<GceParts>(underlyingGce), ...gceActors() },
    parts,
    {
      now,
      seed,
    },
  );
  startControlPlane(world);
  return world;
};

/** The cluster's API server, for the HTTP server and the in-process client. */
export const apiOf = (
  world: WholeGceWorld,
  settings: Partial<Pick<ApiServer, 'users' | 'faults' | 'version'>> = {},
): ApiServer =>
  apiServerOf({ store: storeOf(world.parts.cluster), now: world.now, onWrite: reactionsOf(world), ...settings });
