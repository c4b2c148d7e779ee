import { CoreV1Api, type V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import type { NodeQuery } from '../fencing/model/cluster.ts';
import { isImposter, type IdentitySource } from '../fencing/model/machine.ts';
import {
  annotatedIdentitySources,
  csiNodeIdentitySources,
  anySourceNamesMachine,
  nodeIdentitySources,
  nodePages,
  readCsiNode,
  readNode,
} from './node.ts';
import { pages, type Reader } from './connection.ts';
import { INSTANCE_LABELS } from './names.ts';

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set */
const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

type Names = readonly string[];

const nameOf = ({ metadata }: V1Node): string => metadata?.name ?? '';

/**
 * Reports whether a Node claims the machine. A Node whose own providerID names another machine does not. Otherwise a
 * kubelet could prevent the fence of any machine.
 */
const isClaimant = (identitySources: readonly IdentitySource[], query: NodeQuery): boolean =>
  anySourceNamesMachine(identitySources, query) && !isImposter(identitySources, query);

const proven = (nodes: readonly V1Node[], query: NodeQuery): Names =>
  nodes.filter((node) => isClaimant(nodeIdentitySources(node), query)).map(nameOf);

/**
 * Reports whether the Node of this name claims the machine. Reads its CSINode only when the Node itself names no
 * machine of this cloud.
 */
const isMachines = async (reader: Reader, name: string, query: NodeQuery): Promise<boolean> => {
  const node = await readNode(reader, name);
  if (!node) return false;
  const identitySources = nodeIdentitySources(node);
  const silent = identitySources.every((source) => query.machineOf(source) === null);
  return isClaimant(
    silent ? [...identitySources, ...csiNodeIdentitySources(await readCsiNode(reader, name))] : identitySources,
    query,
  );
};

/**
 * Tries the guessed names. The likeliest name goes first and alone, because it is usually right, and then one GET is
 * enough.
 */
const byGuessedName = async (reader: Reader, query: NodeQuery): Promise<Names> => {
  const [likeliest, ...others] = new Set(query.nodeNames.filter((name) => name !== ''));
  for (const names of [likeliest === undefined ? [] : [likeliest], others]) {
    const verdicts = await Promise.all(names.map((name) => isMachines(reader, name, query)));
    const found = names.filter((_, at) => verdicts[at]);
    if (found.length > 0) return found;
  }
  return [];
};

const byLabel = async (reader: Reader, query: NodeQuery): Promise<Names> => {
  if (!LABEL_VALUE.test(query.machine)) return [];
  const lists = await Promise.all(
    INSTANCE_LABELS.map((label) =>
      reader.read(CoreV1Api, (core) => core.listNode({ labelSelector: `${label}=${query.machine}` })),
    ),
  );
  return [...new Set(lists.flatMap(({ items }) => proven(items, query)))];
};

/**
 * Finds Nodes by their annotations. `complete` is true when every Node has an annotation that names some machine of
 * this cloud. Then no Node is known by its providerID alone.
 */
const byAnnotation = async (
  reader: Reader,
  query: NodeQuery,
): Promise<{ readonly names: Names; readonly complete: boolean }> => {
  const names: string[] = [];
  let complete = true;
  for await (const page of pages((paging) => reader.readMetadata(CoreV1Api, (core) => core.listNode(paging)))) {
    for (const node of page) {
      const identitySources = annotatedIdentitySources(node.metadata);
      complete &&= identitySources.some((source) => query.machineOf(source) !== null);
      if (anySourceNamesMachine(identitySources, query)) names.push(nameOf(node));
    }
  }
  return { names, complete };
};

const byProviderID = async (reader: Reader, query: NodeQuery): Promise<Names> => {
  const names: string[] = [];
  for await (const page of nodePages(reader)) names.push(...proven(page, query));
  return names;
};

/** The most Nodes to read one by one. */
const MOST_GETS = 100;

/**
 * Keeps the Nodes that claim the machine. Only their annotations were read so far, and a Node's own providerID may
 * contradict its annotation.
 */
const claimants = async (reader: Reader, names: Names, query: NodeQuery): Promise<Names> => {
  if (names.length > MOST_GETS) return byProviderID(reader, query);
  const nodes = await Promise.all(names.map((name) => readNode(reader, name)));
  return proven(
    nodes.filter((node) => node !== null),
    query,
  );
};

/**
 * Returns the names of the Nodes that prove to be the machine's. Tries the cheapest way first and stops at the first
 * one that finds a Node. A name helps to find a Node and is never proof.
 */
export const findNodes = async (reader: Reader, query: NodeQuery): Promise<Names> => {
  for (const way of [byGuessedName, byLabel]) {
    const found = await way(reader, query);
    if (found.length > 0) return found;
  }
  const { names, complete } = await byAnnotation(reader, query);
  const found = await claimants(reader, names, query);
  return found.length > 0 || complete ? found : byProviderID(reader, query);
};
