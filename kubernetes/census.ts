import { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { Census } from '../fencing/cluster-facts.ts';
import type { Reader } from './connection.ts';
import { readLeases } from './leases.ts';
import { ZONE_LABEL } from './names.ts';
import { pages } from './pages.ts';

const readZones = async (reader: Reader): Promise<ReadonlyMap<string, string>> => {
  const zones = new Map<string, string>();
  for await (const page of pages((paging) => reader.readMetadata(CoreV1Api, (core) => core.listNode(paging)))) {
    for (const { metadata } of page) zones.set(metadata?.name ?? '', metadata?.labels?.[ZONE_LABEL] ?? '');
  }
  return zones;
};

/**
 * Who is out of reach. Doubt speaks against acting: another Node without any Lease counts as unreachable, this one only
 * when its Lease is there and stale. Nodes without a zone label form a zone of their own.
 */
export const census = async (reader: Reader, node: string, since: number): Promise<Census> => {
  const [{ fresh, stale }, zones] = await Promise.all([readLeases(reader, since), readZones(reader)]);
  const names = [...zones.keys()];
  return {
    unreachable: names.filter((name) => (name === node ? stale.has(name) : !fresh.has(name))),
    zone: names.filter((name) => zones.get(name) === zones.get(node)),
  };
};
