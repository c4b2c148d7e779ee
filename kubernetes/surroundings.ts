import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { OtherFence, Surroundings } from '../fencing/cluster-facts.ts';
import { parseRecord } from '../fencing/record.ts';
import type { Reader } from './connection.ts';
import { FENCED_SELECTOR, PAUSE } from './names.ts';
import { recordTextOf } from './node-facts.ts';
import { pages } from './pages.ts';

/** A list of metadata that is empty comes with null for its items, whatever the client's types say. */
interface CountedList {
  readonly items: readonly V1Node[] | null;
  readonly metadata?: { readonly remainingItemCount?: number };
}

/** One item's metadata and the server's own count of the rest: the same cost at any size of cluster. */
const countNodes = async (reader: Reader): Promise<number> => {
  const { items, metadata }: CountedList = await reader.readMetadata(CoreV1Api, (core) => core.listNode({ limit: 1 }));
  return (items?.length ?? 0) + (metadata?.remainingItemCount ?? 0);
};

/** A record that cannot be read still is a fence; it counts as one begun long ago. */
const fenceOn = (node: V1Node): OtherFence => {
  const record = parseRecord(recordTextOf(node) ?? '');
  const name = node.metadata?.name ?? '';
  if (!record) return { node: name, fence: '', phase: 'fencing', begun: 0 };
  return { node: name, fence: record.fence, phase: record.phase, begun: Date.parse(record.begun) };
};

/** Metadata of the Nodes that bear our label. */
export async function* fencedNodes(reader: Reader): AsyncGenerator<V1Node> {
  const readPage = (paging: { limit: number; _continue?: string }) =>
    reader.readMetadata(CoreV1Api, (core) => core.listNode({ ...paging, labelSelector: FENCED_SELECTOR }));
  for await (const page of pages(readPage)) yield* page;
}

const readFences = async (reader: Reader): Promise<readonly OtherFence[]> => {
  const fences: OtherFence[] = [];
  for await (const node of fencedNodes(reader)) fences.push(fenceOn(node));
  return fences;
};

const readPause = async (reader: Reader): Promise<string | null> => {
  const { namespace, name, key } = PAUSE;
  const map = await reader.readIfPresent(CoreV1Api, (core) => core.readNamespacedConfigMap({ namespace, name }));
  const reason = map?.data?.[key]?.trim() ?? '';
  return reason === '' || reason === 'false' ? null : reason;
};

/** What else goes on in the cluster. All fences are given, the looked-at Node's own included. */
export const readSurroundings = async (reader: Reader): Promise<Surroundings> => {
  const [nodes, fences, paused] = await Promise.all([countNodes(reader), readFences(reader), readPause(reader)]);
  return { nodes, fences, paused };
};
