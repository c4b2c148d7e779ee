import type { V1PersistentVolume, V1Pod } from '@kubernetes/client-node/dist/gen/index.js';
import type { PodFacts, VolumeFacts } from '../fencing/cluster-facts.ts';
import type { LookRequest } from '../fencing/cluster.ts';
import type { VolumeHandle } from '../fencing/machine.ts';
import type { FenceRecord } from '../fencing/record.ts';
import { notAnothers, readSources } from './attachments-of.ts';
import { namesMachine } from './carriers.ts';
import { readClaimed } from './claims.ts';
import type { Reader } from './connection.ts';
import { followed } from './follow.ts';
import { readLease } from './lease.ts';
import type { LeftAttachments } from './left-attachments.ts';
import { leftAttachments } from './left-attachments.ts';
import { lookAtNode } from './look-at-node.ts';
import type { NodeLook, StandingNode } from './node-look.ts';
import { readStanding } from './node-look.ts';
import { podFactsOf, readNodePods } from './node-pods.ts';
import type { VolumeTraces } from './volume-facts.ts';
import { readVolumes } from './volume-facts.ts';
import { attachedInline, handleOf } from './volume-handle.ts';
import { volumeKey } from './volume-key.ts';

/** A kubelet renews its Lease every 10 s and is given up after 40 s: somebody lives under a name whose Lease is younger. */
const LEASE_LIVES_MS = 40_000;

/** A time that lies ahead, or cannot be read, is doubt, and doubt speaks for a living kubelet. */
const isAlive = (lease: string | null, now: number): boolean => lease !== null && !(Date.parse(lease) < now - LEASE_LIVES_MS);

/** What is read of one name under which the machine's Node once stood. */
interface NameRead {
  readonly node: string;
  readonly pods: readonly V1Pod[];
  readonly lease: string | null;
  readonly standing: StandingNode | null;
}

/** The Node is asked for last, because one that comes up in between may have got pods already. */
const readName = async (reader: Reader, node: string): Promise<NameRead> => {
  const [pods, lease] = await Promise.all([readNodePods(reader, node), readLease(reader, node)]);
  return { node, pods, lease, standing: await readStanding(reader, node) };
};

interface Leftovers {
  readonly taken: boolean;
  readonly pods: readonly PodFacts[];
  readonly volumes: readonly VolumeFacts[];
  readonly lease: string | null;
}

interface Traces {
  readonly request: LookRequest;
  readonly left: LeftAttachments;
  readonly now: number;
}

const rememberedOf = ({ remembered, clues }: LookRequest): FenceRecord | null => (remembered?.machine === clues.machine ? remembered : null);

/** Another machine uses the name by now: its pods and its Lease are none of ours, whether or not its Node stands. */
const isTaken = ({ node, lease, standing }: NameRead, { left, now }: Traces): boolean =>
  standing !== null || left.anothers.has(node) || isAlive(lease, now);

const keysOf = (volumes: readonly V1PersistentVolume[], bare: readonly VolumeHandle[] = []): ReadonlySet<string> =>
  new Set([...volumes.flatMap((volume) => handleOf(volume) ?? []), ...bare].map(volumeKey));

/**
 * Pods are bound to a name, not to a machine. Only those are the dead machine's that its fence noted down, or that use a
 * volume which is still attached to it; any other pod without a Node is left to Kubernetes' own garbage collection. One that
 * is not deleted anyway and whose claim cannot be resolved counts as well: it may want what is attached.
 */
const ownPods = (pods: readonly PodFacts[], request: LookRequest, attached: ReadonlySet<string>): readonly PodFacts[] => {
  const noted = new Set(rememberedOf(request)?.pods.map(({ uid }) => uid));
  return pods.filter(({ uid, volumes, tolerates, unresolved }) => noted.has(uid) || volumes.some((volume) => attached.has(volume)) || (tolerates && unresolved.length > 0));
};

const volumesLeft = async (reader: Reader, node: string, { clues, remembered, follow }: LookRequest, found: Pick<VolumeTraces, 'bare' | 'read'>) => {
  const noted = remembered?.node === node ? remembered.volumes : [];
  const volumes = await readVolumes(reader, { node, onStatus: [], reported: new Set(), ...found, remembered: noted, owns: notAnothers(clues) });
  return Promise.all(volumes.map((volume) => followed(reader, volume, node, follow)));
};

const leftoversOf = async (reader: Reader, name: NameRead, traces: Traces): Promise<Leftovers> => {
  const { request, left } = traces;
  const taken = isTaken(name, traces);
  const own = [...left.own, ...(taken ? [] : left.silent)].filter(({ spec }) => spec.nodeName === name.node);
  const attached = await readSources(reader, own);
  const bare = own.flatMap((attachment) => attachedInline(attachment) ?? []);
  const claimed = await readClaimed(reader, taken ? [] : name.pods);
  const pods = taken ? [] : ownPods(name.pods.map((pod) => podFactsOf(pod, claimed)), request, keysOf(attached, bare));
  const wanted = new Set(pods.flatMap(({ volumes }) => volumes));
  const used = [...claimed.values()].filter((volume) => [...keysOf([volume])].some((key) => wanted.has(key)));
  return { taken, pods, lease: taken ? null : name.lease, volumes: await volumesLeft(reader, name.node, request, { bare, read: [...used, ...attached] }) };
};

const namesOf = (request: LookRequest, { own, silent }: LeftAttachments): readonly string[] => {
  const known = [request.node, rememberedOf(request)?.node ?? null].filter((name) => name !== null);
  return [...new Set([...known, ...[...own, ...silent].map(({ spec }) => spec.nodeName)])];
};

/** The machine's own Node under one of the names: only its CSINode may name the machine, and then no search finds it. */
const ownNode = async (reader: Reader, request: LookRequest, names: readonly NameRead[]): Promise<NodeLook | null> => {
  const own = names.find(({ standing }) => standing && namesMachine(standing.carriers, request.clues));
  return own ? lookAtNode(reader, request, own.node) : null;
};

/** Looks for a machine whose Node is gone, or has been replaced by one of the same name. */
export const lookAfterNode = async (reader: Reader, request: LookRequest, now: () => number): Promise<NodeLook> => {
  const left = await leftAttachments(reader, request);
  const names = await Promise.all(namesOf(request, left).map((name) => readName(reader, name)));
  const own = await ownNode(reader, request, names);
  if (own) return own;
  const found = await Promise.all(names.map((name) => leftoversOf(reader, name, { request, left, now: now() })));
  return {
    node: null,
    nodeName: names[0]?.node ?? null,
    nameTaken: found.some(({ taken }) => taken),
    pods: found.flatMap(({ pods }) => pods),
    volumes: found.flatMap(({ volumes }) => volumes),
    lease: found.map(({ lease }) => lease).find((lease) => lease !== null) ?? null,
  };
};
