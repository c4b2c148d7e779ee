import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { Census } from '../fencing/cluster-facts.ts';
import type { Reader } from './connection.ts';
import type { Freshness } from './leases.ts';
import { readLeases } from './leases.ts';
import { ZONE_LABEL } from './names.ts';
import { isLabelled } from './node-facts.ts';
import { pages } from './pages.ts';

interface Counted {
  readonly zone: string;
  /** Fenced: that it is silent says nothing of the network, and that it stands nothing of its zone. */
  readonly parked: boolean;
}

const counted = (node: V1Node): Counted => ({ zone: node.metadata?.labels?.[ZONE_LABEL] ?? '', parked: isLabelled(node) });

const readNodes = async (reader: Reader): Promise<ReadonlyMap<string, Counted>> => {
  const nodes = new Map<string, Counted>();
  for await (const page of pages((paging) => reader.readMetadata(CoreV1Api, (core) => core.listNode(paging)))) {
    for (const node of page) nodes.set(node.metadata?.name ?? '', counted(node));
  }
  return nodes;
};

/**
 * Who is out of reach. Doubt speaks against acting: another Node without any Lease counts as unreachable, this one only
 * when its Lease is there and stale. Nodes without a zone label form a zone of their own. A silent Node under a fence is
 * parked: it is neither unreachable nor a sign of life of its zone.
 */
export const census = async (reader: Reader, node: string, freshness: Freshness): Promise<Census> => {
  const [{ fresh, stale }, nodes] = await Promise.all([readLeases(reader, freshness), readNodes(reader)]);
  const awake = [...nodes.keys()].filter((name) => name === node || fresh.has(name) || !nodes.get(name)?.parked);
  return {
    unreachable: awake.filter((name) => (name === node ? stale.has(name) : !fresh.has(name))),
    zone: awake.filter((name) => nodes.get(name)?.zone === nodes.get(node)?.zone),
  };
};
