import { addBarePod } from '../cluster/fixtures.ts';
import type { ClusterParts } from '../cluster/cluster-world.ts';
import type { World } from '../world.ts';

/** The pods of the scenes with a database, the same on every cloud. */

export const DATABASE_POD = { name: 'db-0', namespace: 'default' } as const;
export const NEW_POD = { name: 'new-pod', namespace: 'default' } as const;

/** Adds a pod that can run only on this Node. It runs as soon as the scheduler can place pods there. */
export const addNewPod = <P extends ClusterParts>(world: World<P>, node: string): void => {
  addBarePod(world, { ...NEW_POD, spec: { nodeSelector: { 'kubernetes.io/hostname': node } } });
};
