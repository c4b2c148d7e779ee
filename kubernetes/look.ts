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
 * Reads everything about one machine in one cluster. If its Node exists, the Node's volumes lead to the attachments.
 * If the Node is gone, or its name has another machine by now, the list of all attachments shows what is left.
 */

/**
 * Returns the volumes that the attach-detach controller has attached. The volumes in use are not among them, because
 * those are only what the kubelet says.
 */
const volumesReported = ({ status }: V1Node) =>
  (status?.volumesAttached ?? []).flatMap(({ name }) => parseUniqueVolumeName(name) ?? []);

const volumesOnStatus = (node: V1Node) => [
  ...volumesReported(node),
  ...(node.status?.volumesInUse ?? []).flatMap((name) => parseUniqueVolumeName(name) ?? []),
];

/**
 * Finds volumes through attachments that only the list of all attachments shows. The attachments of a drained Node no
 * longer appear in any status.
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
 * Returns whether the claim of a volume matters: to a pod with a claim that cannot be resolved, or to find the next
 * attachment of the volume.
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
 * Reads the volumes of a Node, and those of its pods' claims. Reads the attachments whose names can be computed by now
 * side by side with the claims. They show most of the volumes that the claims are bound to.
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

/** What a look needs besides the API server that it reads. */
interface LookAids {
  readonly version: (reader: Reader) => Promise<ServerVersion>;
  /** The settings of the cluster, as this look reads them. */
  readonly settings: Promise<SettingsMap>;
  /** Keeps the Node that was read, for the patch of a step that follows at once. */
  readonly keepNode: Rechecks['keepNode'];
  /** Epoch ms. */
  readonly now: () => number;
}

/** Looks at the Node of this name. Returns null when there is no Node of this name that names the machine. */
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
 * A kubelet renews its Lease every 10 s and counts as lost after 40 s. If a Lease is younger, a kubelet lives under
 * that name.
 */
const LEASE_LIVES_MS = 40_000;

/**
 * Reports whether a Lease belongs to a living kubelet. A time that is in the future or unreadable is a doubt, and in
 * doubt the kubelet counts as alive.
 */
const isAlive = (lease: string | null, now: number): boolean =>
  lease !== null && !(Date.parse(lease) < now - LEASE_LIVES_MS);

/** What was read about one name that the machine's Node once had. */
interface NameFacts {
  readonly node: string;
  readonly pods: readonly V1Pod[];
  readonly lease: string | null;
  readonly existing: ExistingNode | null;
}

/** Reads everything about one name, the Node last. A Node that appears in between may already have pods. */
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
 * Reports whether another machine uses the name now. The pods and the Lease of that name then do not belong to the
 * queried machine, whether or not a Node exists.
 */
const isNameTaken = ({ node, lease, existing }: NameFacts, { left, now }: LeftoverContext): boolean =>
  existing !== null || left.reusedNodeNames.has(node) || isAlive(lease, now);

const keysOf = (volumes: readonly V1PersistentVolume[], inline: readonly VolumeHandle[] = []): ReadonlySet<string> =>
  new Set([...volumes.flatMap((volume) => csiHandleOf(volume) ?? []), ...inline].map(volumeKey));

/**
 * Returns the pods of the dead machine. Pods are bound to a name, not to a machine. A pod belongs to the dead machine
 * if the machine's fence recorded the pod, or if the pod uses a volume that is still attached to the machine.
 * A pod that tolerates the taint, and so is not deleted anyway, also counts if one of its claims cannot be resolved: it
 * may want what is attached.
 * Cloudfence leaves any other pod without a Node to Kubernetes' own garbage collection.
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
 * Looks at the machine's own Node, if it has one of these names. If only the CSINode names the machine, no search finds
 * the Node.
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

/** Reads everything that a decision about one machine needs. Reads that do not depend on each other run in parallel. */
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
