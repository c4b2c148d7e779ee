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
import type { IdentitySource } from '../fencing/model/machine.ts';
import { pages, type Reader } from './connection.ts';
import { ATTACHED_NODE_ID, CSI_NODE_IDS, INSTANCE_ID_ANNOTATIONS, OPT_OUT_ANNOTATION, OPT_OUT_LABEL } from './names.ts';

/**
 * What a look finds about the Node itself. The facts about the cluster around it are the same for both ways of looking.
 */
export type NodeLook = Omit<ClusterFacts, 'surroundings' | 'taintSupported'>;

export const readNode = (reader: Reader, name: string): Promise<V1Node | null> =>
  reader.readIfPresent(CoreV1Api, (core) => core.readNode({ name }));

/** The size of a page of whole Nodes. A Node may have 15 kB, most of it the images on its machine. */
export const NODE_PAGE_SIZE = 100;

/** Yields all Nodes of the cluster, whole, one page at a time. */
export const nodePages = (reader: Reader): AsyncGenerator<readonly V1Node[]> =>
  pages((paging) => reader.read(CoreV1Api, (core) => core.listNode(paging)), NODE_PAGE_SIZE);

export const readCsiNode = (reader: Reader, name: string): Promise<V1CSINode | null> =>
  reader.readIfPresent(StorageV1Api, (storage) => storage.readCSINode({ name }));

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
 * Returns the reason of an opt-out, or null when there is none. Any value opts out, including `false`: doubt about what
 * someone meant must not lead to a fence.
 */
const optOutText = (reason: string | undefined): string | null =>
  reason === undefined ? null : reason.trim() || 'no reason given';

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
 * The most CSI drivers to read. No Node has so many, and Cloudfence does not read what a kubelet writes beyond them.
 */
const MOST_DRIVERS = 50;

/** Returns the identity sources in the nodeid annotation. An annotation that cannot be read names no machine. */
export const annotatedIdentitySources = (metadata: V1ObjectMeta | undefined): readonly IdentitySource[] => {
  const read = nodeIds.safeParse(metadata?.annotations?.[CSI_NODE_IDS]);
  return Object.entries(read.data ?? {})
    .slice(0, MOST_DRIVERS)
    .map(([driver, value]) => ({ source: 'nodeIdAnnotation', driver, value }));
};

const written = (source: IdentitySource['source'], value: string | undefined): readonly IdentitySource[] =>
  value === undefined || value === '' ? [] : [{ source, driver: null, value }];

export const nodeIdentitySources = ({ metadata, spec, status }: V1Node): readonly IdentitySource[] => [
  ...written('providerID', spec?.providerID),
  ...annotatedIdentitySources(metadata),
  ...INSTANCE_ID_ANNOTATIONS.flatMap((name) => written('instanceIdAnnotation', metadata?.annotations?.[name])),
  ...written('systemUUID', status?.nodeInfo?.systemUUID),
];

export const csiNodeIdentitySources = (csiNode: V1CSINode | null): readonly IdentitySource[] =>
  (csiNode?.spec.drivers ?? [])
    .slice(0, MOST_DRIVERS)
    .map(({ name, nodeID }) => ({ source: 'csiNode', driver: name, value: nodeID }));

export const attachmentIdentitySource = ({ metadata, spec }: V1VolumeAttachment): IdentitySource | null => {
  const value = metadata?.annotations?.[ATTACHED_NODE_ID] ?? '';
  return value === '' ? null : { source: 'volumeAttachment', driver: spec.attacher, value };
};

/** Reports whether at least one source names the machine. Fencing judges whether another source contradicts it. */
export const anySourceNamesMachine = (
  identitySources: readonly IdentitySource[],
  { machine, machineOf }: Pick<NodeQuery, 'machine' | 'machineOf'>,
): boolean => identitySources.some((source) => machineOf(source) === machine);
