import { CoreV1Api, type V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import pLimit from 'p-limit';
import type { Suspect } from '../fencing/model/cluster.ts';
import type { IdentitySource } from '../fencing/model/machine.ts';
import { parseRecord } from '../fencing/model/record.ts';
import { type Attached, readDoubtful } from './attachments.ts';
import { csiNodeIdentitySources, nodeIdentitySources, readCsiNode, readNode, type StandingNode } from './node.ts';
import { pages, type Reader } from './connection.ts';
import { type Freshness, readLeases } from './leases.ts';
import { bearsFence, hasOwnTaint, recordTextOf } from './node-facts.ts';
import { labelledNodes } from './settings-map.ts';

const GETS_AT_ONCE = 8;
/**
 * The most Nodes to read one by one. When more Nodes stand out, the cause is mostly the network or the API server, and
 * reading all Nodes in pages is cheaper.
 */
const MOST_GETS = 100;

interface Traces {
  readonly fresh: ReadonlySet<string>;
  /** Nodes with a label of Cloudfence, which may be a tombstone. */
  readonly labelled: ReadonlySet<string>;
  readonly attached: ReadonlyMap<string, readonly Attached[]>;
}

const leftBehind = (node: string, left: readonly Attached[]): readonly Suspect[] => {
  if (left.length === 0) return [];
  const identitySources = left.map(({ source }) => source).filter((source) => source !== null);
  return [
    {
      because: 'node-missing',
      node,
      identitySources,
      record: null,
      marked: false,
      attachments: left.flatMap(({ names }) => names),
    },
  ];
};

const missing = (node: string, { attached }: Traces): readonly Suspect[] => leftBehind(node, attached.get(node) ?? []);

/**
 * Reports whether none of the Node's own identity sources confirms an attachment's source, either in full or as the end
 * of a providerID.
 */
const isStrange =
  (own: readonly IdentitySource[]) =>
  ({ source }: Attached): boolean =>
    source !== null && !own.some(({ value }) => value === source.value || value.endsWith(`/${source.value}`));

const whySuspect = (standing: V1Node, { fresh, labelled }: Traces): Suspect['because'] | null => {
  if (bearsFence(standing)) return 'fenced';
  const node = standing.metadata?.name ?? '';
  if (!fresh.has(node)) return 'lease-stale';
  return labelled.has(node) ? 'labelled' : null;
};

/**
 * Returns the Node itself, if it stands out, and the machine that had its name before, if anything is still attached to
 * that machine.
 */
const judged = ({ node: standing, identitySources }: StandingNode, traces: Traces): readonly Suspect[] => {
  const { attached } = traces;
  const node = standing.metadata?.name ?? '';
  const because = whySuspect(standing, traces);
  const before =
    identitySources.length === 0 ? [] : leftBehind(node, (attached.get(node) ?? []).filter(isStrange(identitySources)));
  if (because === null) return before;
  const held = because === 'fenced' ? (attached.get(node) ?? []).flatMap(({ names }) => names) : [];
  return [
    {
      because,
      node,
      identitySources,
      record: parseRecord(recordTextOf(standing) ?? ''),
      marked: hasOwnTaint(standing),
      attachments: held,
    },
    ...before,
  ];
};

/** Reads a Node's CSINode only when the Node itself has no identity source. */
const withIdentitySources = async (reader: Reader, node: V1Node): Promise<StandingNode> => {
  const own = nodeIdentitySources(node);
  return {
    node,
    identitySources:
      own.length > 0 ? own : csiNodeIdentitySources(await readCsiNode(reader, node.metadata?.name ?? '')),
  };
};

const judgeEach = async (reader: Reader, names: ReadonlySet<string>, traces: Traces): Promise<readonly Suspect[]> => {
  const atOnce = pLimit(GETS_AT_ONCE);
  const judge = async (name: string): Promise<readonly Suspect[]> => {
    const standing = await readNode(reader, name);
    return standing ? judged(await withIdentitySources(reader, standing), traces) : missing(name, traces);
  };
  return (await Promise.all([...names].map((name) => atOnce(() => judge(name))))).flat();
};

const judgeInPages = async (
  reader: Reader,
  names: ReadonlySet<string>,
  traces: Traces,
): Promise<readonly Suspect[]> => {
  const atOnce = pLimit(GETS_AT_ONCE);
  const suspects: Suspect[] = [];
  const absent = new Set(names);
  for await (const page of pages((paging) => reader.read(CoreV1Api, (core) => core.listNode(paging)))) {
    const standing = page.filter(({ metadata }) => absent.delete(metadata?.name ?? ''));
    const seen = await Promise.all(standing.map((node) => atOnce(() => withIdentitySources(reader, node))));
    suspects.push(...seen.flatMap((node) => judged(node, traces)));
  }
  return [...suspects, ...[...absent].flatMap((name) => missing(name, traces))];
};

/**
 * Returns what a sweep should look at. Reads four lists in pages, of which it keeps only names and ids, and the Nodes
 * that stand out.
 * Does not find a Node with neither a Lease nor an attachment: nothing on such a Node waits for a detach.
 */
export const suspects = async (reader: Reader, freshness: Freshness): Promise<readonly Suspect[]> => {
  const { fresh, stale, ahead } = await readLeases(reader, freshness);
  const labelled = await labelledNodes(reader);
  const attached = await readDoubtful(reader, fresh);
  const names = new Set([...labelled, ...stale, ...ahead, ...attached.keys()]);
  const judgeAll = names.size > MOST_GETS ? judgeInPages : judgeEach;
  return judgeAll(reader, names, { fresh, labelled, attached });
};
