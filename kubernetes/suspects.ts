import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { CoreV1Api, StorageV1Api } from '@kubernetes/client-node/dist/gen/index.js';
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
/** When more Nodes than this stand out, it is mostly the network or the API server: then reading all of them in pages is cheaper. */
const MOST_GETS = 100;

/** What is attached to a Node: the names of the attachments, and what they tell of its machine, each carrier once. */
interface Attached {
  readonly names: string[];
  readonly carriers: Map<string, IdentityCarrier>;
}

/** Attachments to Nodes without a fresh Lease, by Node. */
const readDoubtful = async (reader: Reader, fresh: ReadonlySet<string>): Promise<ReadonlyMap<string, Attached>> => {
  const doubtful = new Map<string, Attached>();
  for await (const page of pages((paging) => reader.read(StorageV1Api, (storage) => storage.listVolumeAttachment(paging)))) {
    for (const attachment of page) {
      const { nodeName } = attachment.spec;
      if (fresh.has(nodeName)) continue;
      const { names, carriers } = doubtful.get(nodeName) ?? { names: [], carriers: new Map<string, IdentityCarrier>() };
      const carrier = attachmentCarrier(attachment);
      if (carrier) carriers.set(`${carrier.driver} ${carrier.value}`, carrier);
      names.push(attachment.metadata?.name ?? '');
      doubtful.set(nodeName, { names, carriers });
    }
  }
  return doubtful;
};

interface Traces {
  readonly stale: ReadonlySet<string>;
  readonly fenced: ReadonlySet<string>;
  readonly attached: ReadonlyMap<string, Attached>;
}

const missing = (node: string, { attached }: Traces): readonly Suspect[] => {
  const left = attached.get(node);
  return left ? [{ because: 'node-missing', node, carriers: [...left.carriers.values()], record: null, attachments: left.names }] : [];
};

/** A Node that stands out, judged as it stands. */
const judged = (standing: V1Node, { stale, fenced }: Traces): readonly Suspect[] => {
  const node = standing.metadata?.name ?? '';
  const seen = { node, carriers: nodeCarriers(standing), record: parseRecord(recordTextOf(standing) ?? ''), attachments: [] };
  if (fenced.has(node)) return [{ because: 'fenced', ...seen }];
  return stale.has(node) ? [{ because: 'lease-stale', ...seen }] : [];
};

const judgeEach = async (reader: Reader, names: ReadonlySet<string>, traces: Traces): Promise<readonly Suspect[]> => {
  const atOnce = pLimit(GETS_AT_ONCE);
  const judge = async (name: string): Promise<readonly Suspect[]> => {
    const standing = await readNode(reader, name);
    return standing ? judged(standing, traces) : missing(name, traces);
  };
  return (await Promise.all([...names].map((name) => atOnce(() => judge(name))))).flat();
};

const judgeInPages = async (reader: Reader, names: ReadonlySet<string>, traces: Traces): Promise<readonly Suspect[]> => {
  const suspects: Suspect[] = [];
  const absent = new Set(names);
  for await (const page of pages((paging) => reader.read(CoreV1Api, (core) => core.listNode(paging)))) {
    for (const standing of page) if (absent.delete(standing.metadata?.name ?? '')) suspects.push(...judged(standing, traces));
  }
  return [...suspects, ...[...absent].flatMap((name) => missing(name, traces))];
};

const readFenced = async (reader: Reader): Promise<ReadonlySet<string>> => {
  const names = new Set<string>();
  for await (const { metadata } of fencedNodes(reader)) names.add(metadata?.name ?? '');
  return names;
};

/**
 * Names that a sweep should look at. Three lists in pages, of which only names and ids are kept, and the Nodes that stand
 * out; `since` is the oldest renewTime that still counts as a living kubelet's (epoch ms).
 */
export const suspects = async (reader: Reader, since: number): Promise<readonly Suspect[]> => {
  const { fresh, stale } = await readLeases(reader, since);
  const fenced = await readFenced(reader);
  const attached = await readDoubtful(reader, fresh);
  const names = new Set([...fenced, ...stale, ...attached.keys()]);
  const judgeAll = names.size > MOST_GETS ? judgeInPages : judgeEach;
  return judgeAll(reader, names, { stale, fenced, attached });
};
