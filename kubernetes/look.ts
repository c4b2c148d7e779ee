import type { V1Node, V1PersistentVolume, V1Pod } from '@kubernetes/client-node/dist/gen/index.js';
import type { ClusterFacts, NodeFacts, PodFacts, VolumeFacts } from '../fencing/model/cluster-facts.ts';
import type { LookRequest } from '../fencing/model/cluster.ts';
import type { VolumeHandle } from '../fencing/model/machine.ts';
import type { FenceRecord } from '../fencing/model/record.ts';
import {
  type LeftoverAttachments,
  readLeftoverAttachments,
  mayBelongTo,
  readAttachedVolumes,
  searchAttachments,
} from './attachments.ts';
import type { Reader } from './connection.ts';
import type { Rechecks } from './apply.ts';
import type { ServerVersion } from './doctor.ts';
import { readLease } from './leases.ts';
import { nodeFacts } from './node-facts.ts';
import { anySourceNamesMachine, type NodeLook, readExistingNode, type ExistingNode } from './node.ts';
import { podFactsOf, readNodePods } from './pods.ts';
import { type SettingsMap, surroundingsIn } from './settings-map.ts';
import {
  awaitingSuccessors,
  withSuccessors,
  readAttachmentsOf,
  readVolumes,
  volumesBehind,
  type VolumeSources,
} from './volume-facts.ts';
import {
  inlineVolumeOf,
  csiHandleOf,
  inlineHandles,
  readVolumesOfPvcs,
  volumeKey,
  parseUniqueVolumeName,
} from './volumes.ts';

/**
 * Reads everything about one machine in one cluster. If the Node exists, its volumes lead to the attachments. If the
 * Node is gone, or another machine uses its name now, the list of all attachments shows what is left.
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
const volumesOnNode = async (reader: Reader, { name, node, facts, pods }: NamedNode, request: LookRequest) => {
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
  const on = { name, node: existing.node, facts: node, pods };
  const { claimed, volumes } = await volumesOnNode(reader, on, request);
  const successorsOf = [...request.successorsOf, ...awaitingSuccessors(node, volumes)];
  return {
    node,
    nodeName: name,
    nameTaken: remembered?.node === name && remembered.nodeUid !== node.uid,
    pods: pods.map((pod) => podFactsOf(pod, claimed)),
    volumes: await withSuccessors(reader, volumes, { node: name, old: node.record?.pods ?? [] }, successorsOf),
    lease,
  };
};

/**
 * A kubelet renews its Lease every 10 s and counts as lost after 40 s. If a Lease is younger than this, a living
 * kubelet uses the name.
 */
const LEASE_LIVES_MS = 40_000;

/**
 * Returns whether a Lease belongs to a living kubelet. If its time is unreadable or in the future, the kubelet counts
 * as alive.
 */
const isAlive = (lease: string | null, now: number): boolean =>
  lease !== null && !(Date.parse(lease) < now - LEASE_LIVES_MS);

/** What was read about one former Node name of the machine. */
interface NameFacts {
  readonly node: string;
  readonly pods: readonly V1Pod[];
  readonly lease: string | null;
  readonly existing: ExistingNode | null;
}

/** Reads everything about one name, the Node last. A Node that is created in between may already have pods. */
const readNameFacts = async (reader: Reader, node: string): Promise<NameFacts> => {
  const [pods, lease] = await Promise.all([readNodePods(reader, node), readLease(reader, node)]);
  return { node, pods, lease, existing: await readExistingNode(reader, node) };
};

interface Leftovers {
  readonly taken: boolean;
  readonly pods: readonly PodFacts[];
  readonly volumes: readonly VolumeFacts[];
  readonly lease: string | null;
}

interface LeftoverContext {
  readonly request: LookRequest;
  readonly left: LeftoverAttachments;
  readonly now: number;
}

const rememberedOf = ({ remembered, query }: LookRequest): FenceRecord | null =>
  remembered?.machine === query.machine ? remembered : null;

/**
 * Returns whether another machine uses the name now. If so, the pods and the Lease with that name do not belong to the
 * queried machine, whether or not a Node exists.
 */
const isNameTaken = ({ node, lease, existing }: NameFacts, { left, now }: LeftoverContext): boolean =>
  existing !== null || left.reusedNodeNames.has(node) || isAlive(lease, now);

const keysOf = (volumes: readonly V1PersistentVolume[], inline: readonly VolumeHandle[] = []): ReadonlySet<string> =>
  new Set([...volumes.flatMap((volume) => csiHandleOf(volume) ?? []), ...inline].map(volumeKey));

/**
 * Returns the pods of the dead machine. Pods are bound to a name, not to a machine. A pod belongs to the dead machine
 * if the machine's fence recorded the pod, or if the pod uses a volume that is still attached to the machine. A pod
 * that tolerates the taint, and is therefore not deleted, also counts if one of its claims cannot be resolved, because
 * it may use an attached volume. Cloudfence leaves all other pods without a Node to Kubernetes' garbage collection.
 */
const ownPods = (
  pods: readonly PodFacts[],
  request: LookRequest,
  attached: ReadonlySet<string>,
): readonly PodFacts[] => {
  const noted = new Set(rememberedOf(request)?.pods.map(({ uid }) => uid));
  return pods.filter(
    ({ uid, volumes, tolerates, unresolved }) =>
      noted.has(uid) || volumes.some((volume) => attached.has(volume)) || (tolerates && unresolved.length > 0),
  );
};

const volumesLeft = async (
  reader: Reader,
  node: string,
  { query, remembered, successorsOf }: LookRequest,
  found: Pick<VolumeSources, 'inline' | 'persistentVolumes'>,
) => {
  const noted = remembered?.node === node ? remembered.volumes : [];
  const volumes = await readVolumes(reader, {
    node,
    onStatus: [],
    reported: new Set(),
    attachments: new Map(),
    ...found,
    remembered: noted,
    isOfThisNode: mayBelongTo(query),
    needsClaim: () => true,
  });
  return withSuccessors(reader, volumes, { node, old: remembered?.pods ?? [] }, successorsOf);
};

const leftoversOf = async (reader: Reader, name: NameFacts, context: LeftoverContext): Promise<Leftovers> => {
  const { request, left } = context;
  const taken = isNameTaken(name, context);
  const own = [...left.own, ...(taken ? [] : left.unattributed)].filter(({ spec }) => spec.nodeName === name.node);
  const attached = await readAttachedVolumes(reader, own);
  const inline = own.flatMap((attachment) => inlineVolumeOf(attachment) ?? []);
  const claimed = await readVolumesOfPvcs(reader, taken ? [] : name.pods);
  const pods = taken
    ? []
    : ownPods(
        name.pods.map((pod) => podFactsOf(pod, claimed)),
        request,
        keysOf(attached, inline),
      );
  const wanted = new Set(pods.flatMap(({ volumes }) => volumes));
  const used = [...claimed.values()].filter((volume) => [...keysOf([volume])].some((key) => wanted.has(key)));
  return {
    taken,
    pods,
    lease: taken ? null : name.lease,
    volumes: await volumesLeft(reader, name.node, request, { inline, persistentVolumes: [...used, ...attached] }),
  };
};

const namesOf = (request: LookRequest, { own, unattributed }: LeftoverAttachments): readonly string[] => {
  const known = [request.node, rememberedOf(request)?.node ?? null].filter((name) => name !== null);
  return [...new Set([...known, ...[...own, ...unattributed].map(({ spec }) => spec.nodeName)])];
};

/**
 * Looks at the machine's own Node, if it has one of these names. If only the CSINode names the machine, a search would
 * not find the Node.
 */
const ownNode = async (
  reader: Reader,
  request: LookRequest,
  names: readonly NameFacts[],
  aids: LookAids,
): Promise<NodeLook | null> => {
  const own = names.find(({ existing }) => existing && anySourceNamesMachine(existing.identitySources, request.query));
  return own ? lookAtNode(reader, request, own.node, aids) : null;
};

/** Looks for a machine whose Node is gone, or was replaced by another Node of the same name. */
const lookAfterNode = async (reader: Reader, request: LookRequest, aids: LookAids): Promise<NodeLook> => {
  const left = await readLeftoverAttachments(reader, request);
  const names = await Promise.all(namesOf(request, left).map((name) => readNameFacts(reader, name)));
  const own = await ownNode(reader, request, names, aids);
  if (own) return own;
  const found = await Promise.all(names.map((name) => leftoversOf(reader, name, { request, left, now: aids.now() })));
  return {
    node: null,
    nodeName: names[0]?.node ?? null,
    nameTaken: found.some(({ taken }) => taken),
    pods: found.flatMap(({ pods }) => pods),
    volumes: found.flatMap(({ volumes }) => volumes),
    lease: found.map(({ lease }) => lease).find((lease) => lease !== null) ?? null,
  };
};

const noNode = (node: string | null): NodeLook => ({
  node: null,
  nodeName: node,
  nameTaken: false,
  pods: [],
  volumes: [],
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
