import type { KubeObject, Resource, Resources } from '../objects.ts';
import { reactionsOf } from '../reactions.ts';
import type { Draft, Writer } from '../store.ts';
import { storeOf } from '../store.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { getObject } from '../get-objects.ts';

/** The writer of one component. Each write goes to the store, and then wakes the watchers of the object. */
export interface ObjectWriter {
  readonly create: <R extends Resource>(resource: R, draft: Draft<Resources[R]>) => Resources[R] | undefined;
  /** Edits the present object. Returns undefined if it is gone or its name belongs to another object. */
  readonly change: <R extends Resource>(
    resource: R,
    object: KubeObject,
    edit: (draft: Resources[R]) => void,
  ) => Resources[R] | undefined;
  readonly remove: <R extends Resource>(resource: R, object: Resources[R], graceSeconds?: number) => void;
}

export const writerAs = (world: ClusterWorld, user: string): ObjectWriter => {
  const store = storeOf(world.parts.cluster);
  const react = reactionsOf(world);
  const by = (): Writer => ({ user, at: world.now() });
  return {
    create: (resource, draft) => {
      const created = store.create(resource, draft, by());
      if (created) react(resource, created);
      return created;
    },
    change: (resource, object, edit) => {
      const draft = store.get(resource, object.metadata.name, object.metadata.namespace);
      if (!draft || draft.metadata.uid !== object.metadata.uid) return undefined;
      edit(draft);
      const written = store.update(resource, draft, by());
      if (written) react(resource, written);
      return written;
    },
    remove: (resource, object, graceSeconds) => {
      const { name, namespace } = object.metadata;
      const known = getObject(world, resource, name, namespace);
      store.delete(resource, object, graceSeconds, by());
      const left = getObject(world, resource, name, namespace);
      if (known && left?.metadata.resourceVersion !== known.metadata.resourceVersion) react(resource, left ?? known);
    },
  };
};
