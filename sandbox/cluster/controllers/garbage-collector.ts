import type { KubeObject } from '../objects.ts';
import { writerAs } from './object-writer.ts';
import { listObjects } from '../get-objects.ts';
import type { ClusterWorld } from '../cluster-world.ts';

/** Deletes what a deleted Node owned: its CSINode and its Lease. The sandbox ignores owners of other kinds. */
export const collectOwnedByNodes = (world: ClusterWorld): void => {
  const writer = writerAs(world, 'generic-garbage-collector');
  const uids = new Set(listObjects(world, 'nodes').map(({ metadata }) => metadata.uid));
  for (const csiNode of listObjects(world, 'csinodes'))
    if (outlivesOwner(csiNode, uids)) writer.remove('csinodes', csiNode);
  for (const lease of listObjects(world, 'leases')) if (outlivesOwner(lease, uids)) writer.remove('leases', lease);
};

const outlivesOwner = ({ metadata }: KubeObject, nodes: ReadonlySet<string>): boolean =>
  (metadata.ownerReferences ?? []).some((owner) => owner.kind === 'Node' && !nodes.has(owner.uid));
