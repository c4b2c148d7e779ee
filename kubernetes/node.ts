import {
  CoreV1Api,
  StorageV1Api,
  type V1CSINode,
  type V1Node,
  type V1ObjectMeta,
  type V1VolumeAttachment,
} from '@kubernetes/client-node/dist/gen/index.js';
import { z } from 'zod';
import type { ClusterFacts, OptOut } from '../fencing/model/cluster-facts.ts';
import type { NodeQuery } from '../fencing/model/cluster.ts';
import { jsonTextSchema } from '../fencing/model/json-text.ts';
import { type IdentitySource, isImposter } from '../fencing/model/machine.ts';
import { onOneLine } from '../fencing/model/reason.ts';
import { pages, type Reader } from './connection.ts';
import {
  ATTACHED_NODE_ID,
  CSI_NODE_IDS,
  INSTANCE_ID_ANNOTATIONS,
  OPT_OUT_ANNOTATION,
  OPT_OUT_LABEL,
  INSTANCE_LABELS,
} from './names.ts';

/** Nodes: reading them, their identity sources, and their opt-outs. */

/** What a look reads about the Node itself. Both kinds of looks share the other facts about the cluster. */
export type NodeLook = Omit<ClusterFacts, 'surroundings' | 'taintSupported' | 'impossibleNames'>;

export const readNode = (reader: Reader, name: string): Promise<V1Node | null> =>
  reader.readIfPresent(CoreV1Api, { name }, (core, key) => core.readNode(key));

/** The size of a page of whole Nodes. A Node can have 15 kB, most of it about the images on its machine. */
export const NODE_PAGE_SIZE = 100;

/** Yields all Nodes of the cluster, whole, one page at a time. */
export const nodePages = (reader: Reader): AsyncGenerator<readonly V1Node[]> =>
  pages((paging) => reader.read(CoreV1Api, (core) => core.listNode(paging)), NODE_PAGE_SIZE);

export const readCsiNode = (reader: Reader, name: string): Promise<V1CSINode | null> =>
  reader.readIfPresent(StorageV1Api, { name }, (storage, key) => storage.readCSINode(key));

/** A Node, with everything on it and on its CSINode that may name the machine. */
export interface ExistingNode {
  readonly node: V1Node;
  readonly identitySources: readonly IdentitySource[];
}

export const readExistingNode = async (reader: Reader, name: string): Promise<ExistingNode | null> => {
  const [node, csiNode] = await Promise.all([readNode(reader, name), readCsiNode(reader, name)]);
  return node && { node, identitySources: [...nodeIdentitySources(node), ...csiNodeIdentitySources(csiNode)] };
};

/**
 * Returns the reason of an opt-out, or null if there is none. Any value opts out, including `false`, because an unclear
 * value must not lead to a fence. The owner of a pod writes the reason, and messages quote it.
 */
const optOutText = (reason: string | undefined): string | null =>
  reason === undefined ? null : onOneLine(reason).trim() || 'no reason given';

const optOut = (by: OptOut['by'], key: string, reason: string | undefined, off: string): readonly OptOut[] => {
  const says = optOutText(reason);
  return says === null
    ? []
    : [{ by, key, says, remedy: `kubectl ${by === 'label' ? 'label' : 'annotate'} ${off} ${key}-` }];
};

/**
 * Lists the opt-outs of a Node. The label comes before the annotation, because no kubelet can write the label, but the
 * Node's own kubelet can write the annotation.
 */
export const optOutsOfNode = ({ name = '', labels, annotations }: V1ObjectMeta = {}): readonly OptOut[] => [
  ...optOut('label', OPT_OUT_LABEL, labels?.[OPT_OUT_LABEL], `node ${name}`),
  ...optOut('annotation', OPT_OUT_ANNOTATION, annotations?.[OPT_OUT_ANNOTATION], `node ${name}`),
];

export const optOutOfPod = ({ name = '', namespace = '', annotations }: V1ObjectMeta = {}): OptOut | null =>
  optOut('annotation', OPT_OUT_ANNOTATION, annotations?.[OPT_OUT_ANNOTATION], `-n ${namespace} pod ${name}`)[0] ?? null;

const nodeIds = jsonTextSchema.pipe(z.record(z.string(), z.string()));

/**
 * The maximum number of CSI drivers to read. No real Node has so many, and a kubelet could write an unlimited number.
 */
const MOST_DRIVERS = 50;

/** Returns the identity sources in the nodeid annotation. An annotation that cannot be read names no machine. */
export const annotatedIdentitySources = (metadata: V1ObjectMeta | undefined): readonly IdentitySource[] => {
  const read = nodeIds.safeParse(metadata?.annotations?.[CSI_NODE_IDS]);
  return Object.entries(read.data ?? {})
    .slice(0, MOST_DRIVERS)
    .map(([driver, value]) => ({ source: 'nodeIdAnnotation', driver, value }));
};

const identitySourceOf = (source: IdentitySource['source'], value: string | undefined): readonly IdentitySource[] =>
  value === undefined || value === '' ? [] : [{ source, driver: null, value }];

export const nodeIdentitySources = ({ metadata, spec, status }: V1Node): readonly IdentitySource[] => [
  ...identitySourceOf('providerID', spec?.providerID),
  ...annotatedIdentitySources(metadata),
  ...INSTANCE_ID_ANNOTATIONS.flatMap((name) => identitySourceOf('instanceIdAnnotation', metadata?.annotations?.[name])),
  ...identitySourceOf('systemUUID', status?.nodeInfo?.systemUUID),
];

export const csiNodeIdentitySources = (csiNode: V1CSINode | null): readonly IdentitySource[] =>
  (csiNode?.spec.drivers ?? [])
    .slice(0, MOST_DRIVERS)
    .map(({ name, nodeID }) => ({ source: 'csiNode', driver: name, value: nodeID }));

export const attachmentIdentitySource = ({ metadata, spec }: V1VolumeAttachment): IdentitySource | null => {
  const value = metadata?.annotations?.[ATTACHED_NODE_ID] ?? '';
  return value === '' ? null : { source: 'volumeAttachment', driver: spec.attacher, value };
};

/**
 * Returns whether at least one source names the machine. The rules of `fencing/` check whether another source
 * contradicts it.
 */
export const anySourceNamesMachine = (
  identitySources: readonly IdentitySource[],
  { machine, machineOf }: Pick<NodeQuery, 'machine' | 'machineOf'>,
): boolean => identitySources.some((source) => machineOf(source) === machine);

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set */
const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

type Names = readonly string[];

const nameOf = ({ metadata }: V1Node): string => metadata?.name ?? '';

/**
 * Returns whether a Node names the machine. If the Node's own providerID names another machine, it does not. Otherwise
 * a kubelet could prevent the fence of any machine.
 */
export const namesMachine = (identitySources: readonly IdentitySource[], query: NodeQuery): boolean =>
  anySourceNamesMachine(identitySources, query) && !isImposter(identitySources, query);

const provenNames = (nodes: readonly V1Node[], query: NodeQuery): Names =>
  nodes.filter((node) => namesMachine(nodeIdentitySources(node), query)).map(nameOf);

/**
 * Returns whether the Node with this name names the machine. Reads its CSINode only if the Node itself names no machine
 * of this cloud.
 */
const isNodeOfMachine = async (reader: Reader, name: string, query: NodeQuery): Promise<boolean> => {
  const node = await readNode(reader, name);
  if (!node) return false;
  const identitySources = nodeIdentitySources(node);
  const silent = identitySources.every((source) => query.machineOf(source) === null);
  return namesMachine(
    silent ? [...identitySources, ...csiNodeIdentitySources(await readCsiNode(reader, name))] : identitySources,
    query,
  );
};

/**
 * Tries the guessed names. Tries the likeliest name first and alone: it is usually right, and then one GET is
 * sufficient.
 */
const byGuessedName = async (reader: Reader, query: NodeQuery): Promise<Names> => {
  const [likeliest, ...others] = new Set(query.nodeNames.filter((name) => name !== ''));
  for (const names of [likeliest === undefined ? [] : [likeliest], others]) {
    const verdicts = await Promise.all(names.map((name) => isNodeOfMachine(reader, name, query)));
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
  return [...new Set(lists.flatMap(({ items }) => provenNames(items, query)))];
};

/**
 * Finds Nodes by their annotations. `complete` is true if every Node has an annotation that names a machine of this
 * cloud. Then no Node is identified only by its providerID.
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
  for await (const page of nodePages(reader)) names.push(...provenNames(page, query));
  return names;
};

/** The maximum number of Nodes to read one by one. */
const MOST_GETS = 100;

/**
 * Returns the Nodes that name the machine. Only their annotations have been read so far, and a Node's own providerID
 * may contradict its annotation.
 */
const nodesNaming = async (reader: Reader, names: Names, query: NodeQuery): Promise<Names> => {
  if (names.length > MOST_GETS) return byProviderID(reader, query);
  const nodes = await Promise.all(names.map((name) => readNode(reader, name)));
  return provenNames(
    nodes.filter((node) => node !== null),
    query,
  );
};

/**
 * Returns the names of the Nodes that belong to the machine. Tries the cheapest way first and stops at the first one
 * that finds a Node. A name only helps to find a Node, and is never proof.
 */
export const findNodes = async (reader: Reader, query: NodeQuery): Promise<Names> => {
  for (const way of [byGuessedName, byLabel]) {
    const found = await way(reader, query);
    if (found.length > 0) return found;
  }
  const { names, complete } = await byAnnotation(reader, query);
  const found = await nodesNaming(reader, names, query);
  return found.length > 0 || complete ? found : byProviderID(reader, query);
};
