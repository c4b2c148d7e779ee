import type { ClusterWorld } from './cluster-world.ts';
import type { Resource, Resources } from './objects.ts';
import { keyOf } from './store.ts';

/** The object as it stands, to be read only. */
export const getObject = <R extends Resource>(
  world: ClusterWorld,
  resource: R,
  name: string,
  namespace = '',
): Resources[R] | undefined => {
  const shelf: Record<string, Resources[R]> = world.parts.cluster.objects[resource];
  return shelf[keyOf({ name, namespace })];
};

/** All objects of a kind as they stand, to be read only. */
export const listObjects = <R extends Resource>(world: ClusterWorld, resource: R): readonly Resources[R][] => {
  const shelf: Record<string, Resources[R]> = world.parts.cluster.objects[resource];
  return Object.values(shelf);
};
