import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { Clues } from '../fencing/cluster.ts';
import type { Census } from '../fencing/cluster-facts.ts';
import { namesMachine, nodeCarriers } from './carriers.ts';
import type { Reader } from './connection.ts';
import type { Freshness } from './leases.ts';
import { readLeases } from './leases.ts';
import { ZONE_LABEL } from './names.ts';
import { isFenced } from './node-facts.ts';
import { pages } from './pages.ts';

interface Counted {
  readonly zone: string;
  /** Fenced: that it is silent says nothing of the network, and that it stands nothing of its zone. */
  readonly parked: boolean;
  /** Something on it names the machine that is asked about. */
  readonly claims: boolean;
}

type Machine = Pick<Clues, 'machine' | 'machineOf'>;

const counted = (node: V1Node, machine: Machine): Counted => ({
  zone: node.metadata?.labels?.[ZONE_LABEL] ?? '',
  parked: isFenced(node),
  claims: namesMachine(nodeCarriers(node), machine),
});

/** Whole Nodes, for only those have their providerID: this is asked before a power-off, and otherwise never. */
const readNodes = async (reader: Reader, machine: Machine): Promise<ReadonlyMap<string, Counted>> => {
  const nodes = new Map<string, Counted>();
  for await (const page of pages((paging) => reader.read(CoreV1Api, (core) => core.listNode(paging)))) {
    for (const node of page) nodes.set(node.metadata?.name ?? '', counted(node, machine));
  }
  return nodes;
};

/**
 * Lists unreachable Nodes, and all that claim the machine. In doubt the result argues against acting: another Node without
 * any Lease counts as unreachable, this one only when its Lease is there and stale. Nodes without a zone label form a zone
 * of their own. A silent Node under a fence is parked: it is neither unreachable nor a sign of life of its zone.
 */
export const census = async (reader: Reader, node: string, freshness: Freshness, machine: Machine): Promise<Census> => {
  const [{ fresh, stale }, nodes] = await Promise.all([readLeases(reader, freshness), readNodes(reader, machine)]);
  const names = [...nodes.keys()];
  const awake = names.filter((name) => name === node || fresh.has(name) || !nodes.get(name)?.parked);
  return {
    unreachable: awake.filter((name) => (name === node ? stale.has(name) : !fresh.has(name))),
    zone: awake.filter((name) => nodes.get(name)?.zone === nodes.get(node)?.zone),
    claimants: names.filter((name) => nodes.get(name)?.claims),
  };
};
