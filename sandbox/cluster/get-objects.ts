import type { ClusterWorld } from './cluster-world.ts';
import type { Resource, Resources } from './objects.ts';
import { keyOf } from './store.ts';

/** Returns the present object. Callers must not change it. */
export const getObject = <R extends Resource>(
  world: ClusterWorld,
  resource: R,
  name: string,
  namespace = '',
): Resources[R] | undefined => {
  const shelf: Record<string, Resources[R]> = world.parts.cluster.objects[resource];
  return shelf[keyOf({ name, namespace })];
};

/** Returns all present objects of a kind. Callers must not change them. */
export const listObjects = <R extends Resource>(world: ClusterWorld, resource: R): readonly Resources[R][] => {
  const shelf: Record<string, Resources[R]> = world.parts.cluster.objects[resource];
  return Object.values(shelf);
};
