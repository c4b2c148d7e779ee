import type { World } from '../world.ts';
import type { ClusterState } from './store.ts';

/** The part of the world that the cluster half of the sandbox needs. */
export interface ClusterParts {
  readonly cluster: ClusterState;
}

export type ClusterWorld = World<ClusterParts>;
