import type { V1PersistentVolume, V1Pod } from '@kubernetes/client-node/dist/gen/index.js';
import type { PodFacts, VolumeFacts } from '../fencing/model/cluster-facts.ts';
import type { LookRequest } from '../fencing/model/cluster.ts';
import type { VolumeHandle } from '../fencing/model/machine.ts';
import type { FenceRecord } from '../fencing/model/record.ts';
import { type LeftoverAttachments, readLeftoverAttachments, mayBelongTo, readAttachedVolumes } from './attachments.ts';
import type { Reader } from './connection.ts';
import { readLease } from './leases.ts';
import { type ExistingNode, type NodeLook, readExistingNode } from './node.ts';
import { podFactsOf, readNodePods } from './pods.ts';
import { withSuccessors } from './successors.ts';
import { readVolumes, type VolumeSources } from './volume-facts.ts';
import { inlineVolumeOf, csiHandleOf, readVolumesOfPvcs, volumeKey } from './volumes.ts';

/**
 * Finds what is left of a machine whose Node is gone, or whose Node name another machine uses now: its attachments, and
 * its pods under each of its former names.
 */

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
  readonly node: string;
  readonly taken: boolean;
  readonly pods: readonly PodFacts[];
  readonly volumes: readonly VolumeFacts[];
  readonly attachmentsOfOthers: readonly string[];
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
  existing !== null || left.ofOthers.has(node) || isAlive(lease, now);

const keysOf = (volumes: readonly V1PersistentVolume[], inline: readonly VolumeHandle[] = []): ReadonlySet<string> =>
  new Set([...volumes.flatMap((volume) => csiHandleOf(volume) ?? []), ...inline].map(volumeKey));

/**
 * Returns the pods of the dead machine. Pods are bound to a name, not to a machine. A pod belongs to the dead machine
 * if the machine's fence recorded the pod, or if the pod uses a volume that is still attached to the machine. A pod
 * that tolerates the taint, and is therefore not deleted, also counts if one of its claims cannot be resolved and a
 * volume is attached, which it may use. Cloudfence leaves all other pods without a Node to Kubernetes' garbage
 * collection.
 */
const ownPods = (
  pods: readonly PodFacts[],
  request: LookRequest,
  attached: ReadonlySet<string>,
): readonly PodFacts[] => {
  const noted = new Set(rememberedOf(request)?.pods.map(({ uid }) => uid));
  return pods.filter(
    ({ uid, volumes, tolerates, unresolved }) =>
      noted.has(uid) ||
      volumes.some((volume) => attached.has(volume)) ||
      (attached.size > 0 && tolerates && unresolved.length > 0),
  );
};

const volumesLeft = async (
  reader: Reader,
  node: string,
  { query, remembered, successorsOf, volumesLeft: before = [] }: LookRequest,
  found: Pick<VolumeSources, 'inline' | 'persistentVolumes' | 'nameTaken'>,
) => {
  const noted = remembered?.node === node ? remembered.volumes : [];
  const volumes = await readVolumes(reader, {
    node,
    onStatus: [],
    reported: new Set(),
    attachments: new Map(),
    ...found,
    remembered: [...noted, ...before.filter((volume) => volume.node === node)],
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
    node: name.node,
    taken,
    pods,
    lease: taken ? null : name.lease,
    volumes: await volumesLeft(reader, name.node, request, {
      inline,
      persistentVolumes: [...used, ...attached],
      nameTaken: taken,
    }),
    attachmentsOfOthers: left.ofOthers.get(name.node) ?? [],
  };
};

const namesOf = (request: LookRequest, { own, unattributed }: LeftoverAttachments): readonly string[] => {
  const before = request.volumesLeft?.map(({ node }) => node) ?? [];
  const known = [request.node, rememberedOf(request)?.node ?? null, ...before].filter((name) => name !== null);
  return [...new Set([...known, ...[...own, ...unattributed].map(({ spec }) => spec.nodeName)])];
};

/** The attachments that a machine left, and what was read about each of its former Node names. */
export interface FormerNames {
  readonly left: LeftoverAttachments;
  readonly names: readonly NameFacts[];
}

export const readFormerNames = async (reader: Reader, request: LookRequest): Promise<FormerNames> => {
  const left = await readLeftoverAttachments(reader, request);
  return { left, names: await Promise.all(namesOf(request, left).map((name) => readNameFacts(reader, name))) };
};

/** Returns everything that is left of the machine, under all its former names together. */
export const lookAtLeftovers = async (
  reader: Reader,
  request: LookRequest,
  { left, names }: FormerNames,
  now: number,
): Promise<NodeLook> => {
  const found = await Promise.all(names.map((name) => leftoversOf(reader, name, { request, left, now })));
  const main = found.find(({ taken }) => !taken) ?? found[0];
  return {
    node: null,
    nodeName: main?.node ?? null,
    nameTaken: main?.taken ?? false,
    pods: found.flatMap(({ pods }) => pods),
    volumes: found.flatMap(({ volumes }) => volumes),
    attachmentsOfOthers: found.flatMap(({ attachmentsOfOthers }) => attachmentsOfOthers),
    lease: found.map(({ lease }) => lease).find((lease) => lease !== null) ?? null,
  };
};
