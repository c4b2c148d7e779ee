import type { V1Node, V1PersistentVolume, V1Pod } from '@kubernetes/client-node/dist/gen/index.js';
import type { ClusterFacts, NodeFacts } from '../fencing/model/cluster-facts.ts';
import type { LookRequest } from '../fencing/model/cluster.ts';
import { readAttachedVolumes, searchAttachments } from './attachments.ts';
import type { Reader } from './connection.ts';
import type { Rechecks } from './apply.ts';
import type { ServerVersion } from './doctor.ts';
import { readLease } from './leases.ts';
import { type FormerNames, lookAtLeftovers, readFormerNames } from './leftovers.ts';
import { nodeFacts } from './node-facts.ts';
import { anySourceNamesMachine, namesMachine, type NodeLook, readExistingNode } from './node.ts';
import { podFactsOf, readNodePods } from './pods.ts';
import { type SettingsMap, surroundingsIn } from './settings-map.ts';
import { awaitingSuccessors, withSuccessors } from './successors.ts';
import { readAttachmentsOf, readVolumes, volumesBehind, type VolumeSources } from './volume-facts.ts';
import { inlineVolumeOf, inlineHandles, readVolumesOfPvcs, volumeKey, parseUniqueVolumeName } from './volumes.ts';

/**
 * Reads everything about one machine in one cluster. If the Node exists, its volumes lead to the attachments. If the
 * Node is gone, or another machine uses its name now, leftovers.ts finds what is left of it.
 */

/**
 * Returns the volumes that the attach-detach controller has attached. Volumes in use are not included, because only the
 * kubelet reports those.
 */
const volumesReported = ({ status }: V1Node) =>
  (status?.volumesAttached ?? []).flatMap(({ name }) => parseUniqueVolumeName(name) ?? []);

const volumesOnStatus = (node: V1Node) => [
  ...volumesReported(node),
  ...(node.status?.volumesInUse ?? []).flatMap((name) => parseUniqueVolumeName(name) ?? []),
];

/**
 * Finds volumes through attachments that appear only in the list of all attachments. The attachments of a drained Node
 * no longer appear in any status.
 */
const foundInList = async (reader: Reader, { search = false, query }: LookRequest, node: string) => {
  const attachments = search ? await searchAttachments(reader, node, query) : [];
  return {
    persistentVolumes: await readAttachedVolumes(reader, attachments),
    inline: attachments.flatMap((attachment) => inlineVolumeOf(attachment) ?? []),
  };
};

interface NamedNode {
  readonly name: string;
  readonly node: V1Node;
  readonly facts: NodeFacts;
  readonly pods: readonly V1Pod[];
  readonly nameTaken: boolean;
}

/**
 * Returns whether the claim of a volume is needed: for a pod with an unresolved claim, or to find the next attachment
 * of the volume.
 */
const claimsNeeded = (
  pods: readonly V1Pod[],
  claimed: ReadonlyMap<string, V1PersistentVolume>,
  { successorsOf }: LookRequest,
): VolumeSources['needsClaim'] => {
  const isUnresolved = pods.some((pod) => podFactsOf(pod, claimed).unresolved.length > 0);
  return (key) => isUnresolved || successorsOf.includes(key);
};

/**
 * Reads the volumes of a Node, and those of its pods' claims. Reads the claims and, concurrently, the attachments whose
 * names can already be computed. These attachments show most of the volumes to which the claims are bound.
 */
const volumesOnNode = async (
  reader: Reader,
  { name, node, facts, pods, nameTaken }: NamedNode,
  request: LookRequest,
) => {
  const remembered = [...(request.remembered?.volumes ?? []), ...(facts.record?.volumes ?? [])];
  const onStatus = volumesOnStatus(node);
  const inline = inlineHandles(pods);
  const known = [...onStatus, ...inline, ...remembered];
  const asking = readAttachmentsOf(reader, name, known);
  const [claimed, found, asked] = await Promise.all([
    readVolumesOfPvcs(reader, pods, async () => volumesBehind(known, name, await asking)),
    foundInList(reader, request, name),
    asking,
  ]);
  const volumes = await readVolumes(reader, {
    node: name,
    nameTaken,
    onStatus,
    inline: [...inline, ...found.inline],
    reported: new Set(volumesReported(node).map(volumeKey)),
    remembered,
    persistentVolumes: [...claimed.values(), ...found.persistentVolumes],
    attachments: asked,
    isOfThisNode: () => true,
    needsClaim: claimsNeeded(pods, claimed, request),
  });
  return { claimed, volumes };
};

/** What a look needs in addition to the reader. */
interface LookAids {
  readonly version: (reader: Reader) => Promise<ServerVersion>;
  /** The settings of the cluster, which this look reads. */
  readonly settings: Promise<SettingsMap>;
  /** Stores the Node that was read, for the patch of a step that follows immediately. */
  readonly keepNode: Rechecks['keepNode'];
  /** Epoch ms. */
  readonly now: () => number;
}

/** Looks at the Node of this name. Returns null if no Node with this name names the machine. */
const lookAtNode = async (
  reader: Reader,
  request: LookRequest,
  name: string,
  { keepNode, now }: LookAids,
): Promise<NodeLook | null> => {
  const askedAt = now();
  const [existing, lease, pods] = await Promise.all([
    readExistingNode(reader, name),
    readLease(reader, name),
    readNodePods(reader, name),
  ]);
  if (!existing || !anySourceNamesMachine(existing.identitySources, request.query)) return null;
  keepNode(existing.node, askedAt);
  const { remembered } = request;
  const node = nodeFacts(existing.node, existing.identitySources);
  const nameTaken = remembered?.node === name && remembered.nodeUid !== node.uid;
  const on = { name, node: existing.node, facts: node, pods, nameTaken };
  const { claimed, volumes } = await volumesOnNode(reader, on, request);
  const successorsOf = [...request.successorsOf, ...awaitingSuccessors(node, volumes)];
  return {
    node,
    nodeName: name,
    nameTaken,
    pods: pods.map((pod) => podFactsOf(pod, claimed)),
    volumes: await withSuccessors(reader, volumes, { node: name, old: node.record?.pods ?? [] }, successorsOf),
    attachmentsOfOthers: [],
    lease,
  };
};

/**
 * Looks at the machine's own Node, if it has one of these names. If only the CSINode names the machine, a search would
 * not find the Node.
 */
const ownNode = async (
  reader: Reader,
  request: LookRequest,
  { names }: FormerNames,
  aids: LookAids,
): Promise<NodeLook | null> => {
  const own = names.find(({ existing }) => existing && namesMachine(existing.identitySources, request.query));
  return own ? lookAtNode(reader, request, own.node, aids) : null;
};

/** Looks for a machine whose Node is gone, or was replaced by another Node of the same name. */
const lookAfterNode = async (reader: Reader, request: LookRequest, aids: LookAids): Promise<NodeLook> => {
  const former = await readFormerNames(reader, request);
  return (await ownNode(reader, request, former, aids)) ?? lookAtLeftovers(reader, request, former, aids.now());
};

const noNode = (node: string | null): NodeLook => ({
  node: null,
  nodeName: node,
  nameTaken: false,
  pods: [],
  volumes: [],
  attachmentsOfOthers: [],
  lease: null,
});

const lookForMachine = async (reader: Reader, request: LookRequest, aids: LookAids): Promise<NodeLook> => {
  const found = request.node === null ? null : await lookAtNode(reader, request, request.node, aids);
  return found ?? (request.nodeOnly ? noNode(request.node) : lookAfterNode(reader, request, aids));
};

/** Reads everything that a decision about one machine needs. Independent reads run concurrently. */
export const lookAtCluster = async (reader: Reader, aids: LookAids, request: LookRequest): Promise<ClusterFacts> => {
  const [found, settings, { taintSupported }] = await Promise.all([
    lookForMachine(reader, request, aids),
    aids.settings,
    aids.version(reader),
  ]);
  const impossibleNames = reader.impossibleNames();
  return {
    ...found,
    surroundings: surroundingsIn(settings),
    taintSupported,
    ...(impossibleNames.length > 0 && { impossibleNames }),
  };
};
