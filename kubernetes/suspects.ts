import { StorageV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import pLimit from 'p-limit';
import type { Suspect } from '../fencing/cluster.ts';
import type { IdentityCarrier } from '../fencing/machine.ts';
import { parseRecord } from '../fencing/record.ts';
import { attachmentCarrier, nodeCarriers } from './carriers.ts';
import type { Reader } from './connection.ts';
import { readLeases } from './leases.ts';
import { recordTextOf } from './node-facts.ts';
import { readNode } from './node-look.ts';
import { pages } from './pages.ts';
import { fencedNodes } from './surroundings.ts';

const GETS_AT_ONCE = 8;

/** What the attachments of Nodes without a fresh Lease tell of their machines; one entry for each Node and machine. */
const readDoubtful = async (reader: Reader, fresh: ReadonlySet<string>): Promise<ReadonlyMap<string, readonly IdentityCarrier[]>> => {
  const doubtful = new Map<string, Map<string, IdentityCarrier>>();
  for await (const page of pages((paging) => reader.read(StorageV1Api, (storage) => storage.listVolumeAttachment(paging)))) {
    for (const attachment of page) {
      const { nodeName } = attachment.spec;
      if (fresh.has(nodeName)) continue;
      const carriers = doubtful.get(nodeName) ?? new Map<string, IdentityCarrier>();
      const carrier = attachmentCarrier(attachment);
      if (carrier) carriers.set(`${carrier.driver} ${carrier.value}`, carrier);
      doubtful.set(nodeName, carriers);
    }
  }
  return new Map([...doubtful].map(([node, carriers]) => [node, [...carriers.values()]]));
};

interface Traces {
  readonly stale: ReadonlySet<string>;
  readonly fenced: ReadonlySet<string>;
  readonly left: ReadonlyMap<string, readonly IdentityCarrier[]>;
}

/** One name that stands out, judged by the Node as it stands. */
const judged = async (reader: Reader, node: string, { stale, fenced, left }: Traces): Promise<readonly Suspect[]> => {
  const standing = await readNode(reader, node);
  if (!standing) return left.has(node) ? [{ because: 'node-missing', node, carriers: left.get(node) ?? [], record: null }] : [];
  const seen = { node, carriers: nodeCarriers(standing), record: parseRecord(recordTextOf(standing) ?? '') };
  if (fenced.has(node)) return [{ because: 'fenced', ...seen }];
  return stale.has(node) ? [{ because: 'lease-stale', ...seen }] : [];
};

const readFenced = async (reader: Reader): Promise<ReadonlySet<string>> => {
  const names = new Set<string>();
  for await (const { metadata } of fencedNodes(reader)) names.add(metadata?.name ?? '');
  return names;
};

/**
 * Names that a sweep should look at. Three lists in pages, of which only names and ids are kept, and one GET for each
 * name that stands out; `since` is the oldest renewTime that still counts as a living kubelet's (epoch ms).
 */
export const suspects = async (reader: Reader, since: number): Promise<readonly Suspect[]> => {
  const { fresh, stale } = await readLeases(reader, since);
  const fenced = await readFenced(reader);
  const left = await readDoubtful(reader, fresh);
  const atOnce = pLimit(GETS_AT_ONCE);
  const names = new Set([...fenced, ...stale, ...left.keys()]);
  const found = await Promise.all([...names].map((node) => atOnce(() => judged(reader, node, { stale, fenced, left }))));
  return found.flat();
};
