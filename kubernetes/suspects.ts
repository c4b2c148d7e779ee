import type { V1Node, V1VolumeAttachment } from '@kubernetes/client-node/dist/gen/index.js';
import pLimit from 'p-limit';
import type { SuspectNode } from '../fencing/model/cluster.ts';
import type { IdentitySource } from '../fencing/model/machine.ts';
import { attachmentPages } from './attachments.ts';
import {
  attachmentIdentitySource,
  csiNodeIdentitySources,
  nodeIdentitySources,
  nodePages,
  readCsiNode,
  type ExistingNode,
} from './node.ts';
import type { Reader } from './connection.ts';
import { type Freshness, readLeases } from './leases.ts';
import { hasFenceTraces, hasOwnLabel, nodeFacts } from './node-facts.ts';

/**
 * Finds what a sweep has to look at: silent Nodes, Nodes with something of Cloudfence, and attachments to Nodes that
 * are gone.
 */

const GETS_AT_ONCE = 8;

/** The names of attachments to one Node that have the same identity source. A null source means that they have none. */
interface AttachmentGroup {
  readonly source: IdentitySource | null;
  readonly names: readonly string[];
}

interface NotedSource {
  readonly source: IdentitySource | null;
  readonly names: string[];
}

type ByNode = ReadonlyMap<string, readonly AttachmentGroup[]>;

const noteAttachment = (found: Map<string, Map<string, NotedSource>>, attachment: V1VolumeAttachment): void => {
  const { nodeName } = attachment.spec;
  const source = attachmentIdentitySource(attachment);
  const key = source ? `${source.driver} ${source.value}` : '';
  const noted = found.get(nodeName) ?? new Map<string, NotedSource>();
  const same = noted.get(key) ?? { source, names: [] };
  same.names.push(attachment.metadata?.name ?? '');
  found.set(nodeName, noted.set(key, same));
};

/**
 * Stores one machine id per driver for each Node with a fresh Lease, which is sufficient to detect a second machine
 * with the same Node name.
 */
const watchForReusedNames = () => {
  const ids = new Map<string, string>();
  const contested = new Set<string>();
  const watch = (attachment: V1VolumeAttachment): void => {
    const source = attachmentIdentitySource(attachment);
    if (!source) return;
    const key = `${attachment.spec.nodeName} ${source.driver}`;
    const firstId = ids.get(key);
    if (firstId === undefined) ids.set(key, source.value);
    else if (firstId !== source.value) contested.add(attachment.spec.nodeName);
  };
  return { contested, watch };
};

const readAttached = async (
  reader: Reader,
  wanted: (node: string) => boolean,
  others: (attachment: V1VolumeAttachment) => void,
): Promise<ByNode> => {
  const found = new Map<string, Map<string, NotedSource>>();
  for await (const page of attachmentPages(reader)) {
    for (const attachment of page) {
      if (wanted(attachment.spec.nodeName)) noteAttachment(found, attachment);
      else others(attachment);
    }
  }
  return new Map([...found].map(([node, noted]) => [node, [...noted.values()]]));
};

/**
 * Lists the attachments of two kinds of Nodes: Nodes without a fresh Lease, and Nodes for whose name one driver wrote
 * two machine ids. In the second case, a living Node may have the name of a dead one. Nodes of the second kind are
 * rare. For them, the function reads the list again, so that it never holds the whole list in memory.
 */
const groupSuspectAttachments = async (reader: Reader, fresh: ReadonlySet<string>): Promise<ByNode> => {
  const { contested, watch } = watchForReusedNames();
  const doubtful = await readAttached(reader, (node) => !fresh.has(node), watch);
  if (contested.size === 0) return doubtful;
  return new Map([
    ...doubtful,
    ...(await readAttached(
      reader,
      (node) => contested.has(node),
      () => undefined,
    )),
  ]);
};

interface SuspectFacts {
  readonly fresh: ReadonlySet<string>;
  /** Nodes without a fresh Lease, or with a doubtful attachment, whether they exist or not. */
  readonly named: ReadonlySet<string>;
  readonly attached: ReadonlyMap<string, readonly AttachmentGroup[]>;
}

const suspectsFromAttachments = (node: string, left: readonly AttachmentGroup[]): readonly SuspectNode[] => {
  if (left.length === 0) return [];
  const identitySources = left.map(({ source }) => source).filter((source) => source !== null);
  return [
    {
      because: 'node-missing',
      node,
      identitySources,
      record: null,
      marked: null,
      attachments: left.flatMap(({ names }) => names),
    },
  ];
};

const suspectsOfGoneNode = (node: string, { attached }: SuspectFacts): readonly SuspectNode[] =>
  suspectsFromAttachments(node, attached.get(node) ?? []);

/**
 * Returns whether none of the Node's own identity sources confirms an attachment's source, either in full or as the end
 * of a providerID.
 */
const isOfAnotherMachine =
  (own: readonly IdentitySource[]) =>
  ({ source }: AttachmentGroup): boolean =>
    source !== null && !own.some(({ value }) => value === source.value || value.endsWith(`/${source.value}`));

const nameOf = ({ metadata }: V1Node): string => metadata?.name ?? '';

const whySuspect = (existing: V1Node, { fresh }: SuspectFacts): SuspectNode['because'] | null => {
  if (hasFenceTraces(existing)) return 'fenced';
  if (!fresh.has(nameOf(existing))) return 'lease-stale';
  return hasOwnLabel(existing) ? 'labelled' : null;
};

/**
 * Returns up to two suspects: the Node, and a machine that had the Node's name before, if a volume is still attached to
 * that machine.
 */
const judgeNode = ({ node: existing, identitySources }: ExistingNode, facts: SuspectFacts): readonly SuspectNode[] => {
  const { attached } = facts;
  const node = nameOf(existing);
  const because = whySuspect(existing, facts);
  const before =
    identitySources.length === 0
      ? []
      : suspectsFromAttachments(node, (attached.get(node) ?? []).filter(isOfAnotherMachine(identitySources)));
  if (because === null) return before;
  const seen = nodeFacts(existing, identitySources);
  const held = because === 'fenced' ? (attached.get(node) ?? []).flatMap(({ names }) => names) : [];
  return [
    {
      because,
      node,
      identitySources,
      record: seen.record,
      marked: seen.taints.ours ? seen : null,
      attachments: held,
    },
    ...before,
  ];
};

/** Reads a Node's CSINode only if the Node itself has no identity source. */
const withIdentitySources = async (reader: Reader, node: V1Node): Promise<ExistingNode> => {
  const own = nodeIdentitySources(node);
  return {
    node,
    identitySources: own.length > 0 ? own : csiNodeIdentitySources(await readCsiNode(reader, nameOf(node))),
  };
};

const needsCheck = (node: V1Node, { named }: SuspectFacts): boolean =>
  named.has(nameOf(node)) || hasFenceTraces(node) || hasOwnLabel(node);

/**
 * Checks all Nodes in pages. Whole Nodes are needed, because only these contain taints, and the API server cannot
 * select Nodes by taint. The search must find our taint without labels, because a person may remove every label.
 */
const judgeAllNodes = async (reader: Reader, facts: SuspectFacts): Promise<readonly SuspectNode[]> => {
  const atOnce = pLimit(GETS_AT_ONCE);
  const suspects: SuspectNode[] = [];
  const absent = new Set(facts.named);
  for await (const page of nodePages(reader)) {
    for (const node of page) absent.delete(nameOf(node));
    const existing = page.filter((node) => needsCheck(node, facts));
    const seen = await Promise.all(existing.map((node) => atOnce(() => withIdentitySources(reader, node))));
    suspects.push(...seen.flatMap((node) => judgeNode(node, facts)));
  }
  return [...suspects, ...[...absent].flatMap((name) => suspectsOfGoneNode(name, facts))];
};

/**
 * Returns everything that a sweep should look at. Reads the lists of Leases, attachments, and Nodes in pages, and keeps
 * only suspects. Does not find a Node that has neither a Lease, nor an attachment, nor anything of Cloudfence. Nothing
 * on such a Node waits for a detach.
 */
export const findSuspects = async (reader: Reader, freshness: Freshness): Promise<readonly SuspectNode[]> => {
  const { fresh, stale, ahead } = await readLeases(reader, freshness);
  const attached = await groupSuspectAttachments(reader, fresh);
  return judgeAllNodes(reader, { fresh, named: new Set([...stale, ...ahead, ...attached.keys()]), attached });
};
