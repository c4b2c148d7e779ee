import type { KubeObject } from '../objects.ts';
import { writerAs } from './object-writer.ts';
import { all } from '../standing.ts';
import type { ClusterWorld } from '../cluster-world.ts';

/** What a Node owns goes with it: its CSINode and its Lease. Owners of other kinds are not followed here. */
export const collectOwnedByNodes = (world: ClusterWorld): void => {
  const desk = writerAs(world, 'generic-garbage-collector');
  const uids = new Set(all(world, 'nodes').map(({ metadata }) => metadata.uid));
  for (const csiNode of all(world, 'csinodes')) if (outlivesOwner(csiNode, uids)) desk.remove('csinodes', csiNode);
  for (const lease of all(world, 'leases')) if (outlivesOwner(lease, uids)) desk.remove('leases', lease);
};

const outlivesOwner = ({ metadata }: KubeObject, nodes: ReadonlySet<string>): boolean =>
  (metadata.ownerReferences ?? []).some((owner) => owner.kind === 'Node' && !nodes.has(owner.uid));
