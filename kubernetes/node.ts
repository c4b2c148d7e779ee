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
import { jsonText } from '../fencing/model/json-text.ts';
import { type IdentitySource, ownMachine } from '../fencing/model/machine.ts';
import type { Reader } from './connection.ts';
import { ATTACHED_NODE_ID, CSI_NODE_IDS, INSTANCE_ID_ANNOTATIONS, OPT_OUT_ANNOTATION, OPT_OUT_LABEL } from './names.ts';

/** What a look finds of the Node itself; the cluster around it is the same for both ways of looking. */
export type NodeLook = Omit<ClusterFacts, 'surroundings' | 'taintSupported'>;

export const readNode = (reader: Reader, name: string): Promise<V1Node | null> =>
  reader.readIfPresent(CoreV1Api, (core) => core.readNode({ name }));

export const readCsiNode = (reader: Reader, name: string): Promise<V1CSINode | null> =>
  reader.readIfPresent(StorageV1Api, (storage) => storage.readCSINode({ name }));

/** A Node and everything on it and its CSINode that may name the machine. */
export interface StandingNode {
  readonly node: V1Node;
  readonly identitySources: readonly IdentitySource[];
}

export const readStanding = async (reader: Reader, name: string): Promise<StandingNode | null> => {
  const [node, csiNode] = await Promise.all([readNode(reader, name), readCsiNode(reader, name)]);
  return node && { node, identitySources: [...nodeIdentitySources(node), ...csiNodeIdentitySources(csiNode)] };
};

/** Any value opts out, `false` included: doubt about what somebody meant must not lead to a fence. */
const optOutText = (reason: string | undefined): string | null =>
  reason === undefined ? null : reason.trim() || 'no reason given';

const optOut = (by: OptOut['by'], key: string, reason: string | undefined, off: string): readonly OptOut[] => {
  const says = optOutText(reason);
  return says === null
    ? []
    : [{ by, key, says, remedy: `kubectl ${by === 'label' ? 'label' : 'annotate'} ${off} ${key}-` }];
};

/** The label, which no kubelet can write, before the annotation, which the Node's own can. */
export const optOutsOfNode = ({ name = '', labels, annotations }: V1ObjectMeta = {}): readonly OptOut[] => [
  ...optOut('label', OPT_OUT_LABEL, labels?.[OPT_OUT_LABEL], `node ${name}`),
  ...optOut('annotation', OPT_OUT_ANNOTATION, annotations?.[OPT_OUT_ANNOTATION], `node ${name}`),
];

export const optOutOfPod = ({ name = '', namespace = '', annotations }: V1ObjectMeta = {}): OptOut | null =>
  optOut('annotation', OPT_OUT_ANNOTATION, annotations?.[OPT_OUT_ANNOTATION], `-n ${namespace} pod ${name}`)[0] ?? null;

const nodeIds = jsonText.pipe(z.record(z.string(), z.string()));

/** No Node has so many CSI drivers; what its kubelet writes beyond is not read. */
const MOST_DRIVERS = 50;

/** What the nodeid annotation says; an annotation that cannot be read names nobody. */
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

/**
 * The Node's own providerID names another machine. It cannot be changed once it is set, so that whatever else on the
 * Node, CSINode or annotation, names this machine, was written by a kubelet that is not its.
 */
export const isImposter = (identitySources: readonly IdentitySource[], { machine, machineOf }: NodeQuery): boolean =>
  ![machine, null].includes(ownMachine(identitySources, machineOf));

/** At least one source names the machine. Whether another one contradicts, fencing judges. */
export const namesMachine = (
  identitySources: readonly IdentitySource[],
  { machine, machineOf }: Pick<NodeQuery, 'machine' | 'machineOf'>,
): boolean => identitySources.some((source) => machineOf(source) === machine);
