import { addBarePod } from '../cluster/fixtures.ts';
import type { ClusterParts } from '../cluster/cluster-world.ts';
import type { World } from '../world.ts';

/** The pods of the scenes with a database, the same on every cloud. */

export const DATABASE_POD = { name: 'db-0', namespace: 'default' } as const;
export const NEWCOMER_POD = { name: 'newcomer', namespace: 'default' } as const;

/** A pod that wants this Node and no other: it runs as soon as pods may be scheduled there. */
export const addNewcomer = <P extends ClusterParts>(world: World<P>, node: string): void => {
  addBarePod(world, { ...NEWCOMER_POD, spec: { nodeSelector: { 'kubernetes.io/hostname': node } } });
};
