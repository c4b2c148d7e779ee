import { writerAs } from './object-writer.ts';
import { getObject } from '../get-objects.ts';
import type { ClusterWorld } from '../cluster-world.ts';

/**
 * Writes a Node's `status.volumesAttached`: removes a volume before its detach begins, and adds it after it is
 * attached.
 */
export const reportAttached = (world: ClusterWorld, name: string): void => {
  const node = getObject(world, 'nodes', name);
  if (!node) return;
  const { attached } = world.parts.cluster.memory;
  const names = Object.values(attached)
    .filter((one) => one.node === name && one.reported)
    .map((one) => one.unique)
    .toSorted();
  if (names.join() === (node.status.volumesAttached ?? []).map((known) => known.name).join()) return;
  writerAs(world, 'attachdetach-controller').change('nodes', node, (draft) => {
    draft.status.volumesAttached = names.map((unique) => ({ name: unique, devicePath: '' }));
  });
};
