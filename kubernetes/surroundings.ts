import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { Surroundings } from '../fencing/cluster-facts.ts';
import type { Reader } from './connection.ts';
import { FENCED_LABEL, TAINT_LABEL } from './names.ts';
import { pages } from './pages.ts';
import { pauseIn, readSettings } from './settings-map.ts';

/** A list of metadata that is empty comes with null for its items, whatever the client's types say. */
interface CountedList {
  readonly items: readonly V1Node[] | null;
  readonly metadata?: { readonly remainingItemCount?: number };
}

/** One item's metadata and the server's own count of the rest: the same cost at any size of cluster. */
export const countNodes = async (reader: Reader): Promise<number> => {
  const { items, metadata }: CountedList = await reader.readMetadata(CoreV1Api, (core) => core.listNode({ limit: 1 }));
  return (items?.length ?? 0) + (metadata?.remainingItemCount ?? 0);
};

/** Names of the Nodes that bear our label, be it a tombstone, or the one beside our taint: a person may have removed either. */
export const labelledNodes = async (reader: Reader): Promise<ReadonlySet<string>> => {
  const names = new Set<string>();
  for (const labelSelector of [FENCED_LABEL, TAINT_LABEL]) {
    const labelled = pages((paging) => reader.readMetadata(CoreV1Api, (core) => core.listNode({ ...paging, labelSelector })));
    for await (const page of labelled) for (const { metadata } of page) names.add(metadata?.name ?? '');
  }
  return names;
};

/** What else goes on in the cluster. */
export const readSurroundings = async (reader: Reader): Promise<Surroundings> => ({ paused: pauseIn(await readSettings(reader)) });
