import type { V1PersistentVolume, V1Pod, V1VolumeAttachment } from '@kubernetes/client-node/dist/gen/index.js';
import { StorageV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { VolumeFacts } from '../fencing/cluster-facts.ts';
import type { Clues, LookRequest } from '../fencing/cluster.ts';
import { readAttachment } from './attachment-facts.ts';
import { attachmentCarrier, namesMachine } from './carriers.ts';
import { readClaimed, readVolume } from './claims.ts';
import type { Reader } from './connection.ts';
import { followed } from './follow.ts';
import type { NodeLook } from './node-look.ts';
import { readNode } from './node-look.ts';
import { readLease } from './lease.ts';
import { podFactsOf, readNodePods } from './node-pods.ts';
import { pages } from './pages.ts';
import { readVolumes } from './volume-facts.ts';

const notedFor =
  (clues: Clues) =>
  (attachment: V1VolumeAttachment): boolean =>
    namesMachine([attachmentCarrier(attachment)].filter((carrier) => carrier !== null), clues);

/** The one list of everything that a look without a Node needs, and only as long as it is not known what is in it. */
const listNoted = async (reader: Reader, clues: Clues): Promise<readonly V1VolumeAttachment[]> => {
  const noted: V1VolumeAttachment[] = [];
  for await (const page of pages((paging) => reader.read(StorageV1Api, (storage) => storage.listVolumeAttachment(paging)))) {
    noted.push(...page.filter(notedFor(clues)));
  }
  return noted;
};

/** Attachments that the attacher noted down for this very machine. */
const leftAttachments = async (reader: Reader, { clues, attachments }: LookRequest): Promise<readonly V1VolumeAttachment[]> => {
  if (!attachments) return listNoted(reader, clues);
  const read = await Promise.all(attachments.map((name) => readAttachment(reader, name)));
  return read.filter((attachment) => attachment !== null).filter(notedFor(clues));
};

/** An attachment that bears another machine's id is that of a new Node under the old name. */
const notAnothers =
  ({ machine, machineOf }: Clues) =>
  (attachment: V1VolumeAttachment): boolean => {
    const carrier = attachmentCarrier(attachment);
    return carrier === null || [machine, null].includes(machineOf(carrier));
  };

const readSources = async (reader: Reader, attachments: readonly V1VolumeAttachment[]): Promise<readonly V1PersistentVolume[]> => {
  const names = new Set(attachments.flatMap(({ spec }) => spec.source.persistentVolumeName ?? []));
  const volumes = await Promise.all([...names].map((name) => readVolume(reader, name)));
  return volumes.filter((volume) => volume !== null);
};

interface Leftovers {
  readonly taken: boolean;
  readonly pods: readonly V1Pod[];
  readonly claimed: ReadonlyMap<string, V1PersistentVolume>;
  readonly volumes: readonly VolumeFacts[];
  readonly lease: string | null;
}

/**
 * What is left under one Node's name. A new Node under that name owns the pods and the Lease there, so they are none of
 * ours; it is asked for after them, because a Node that comes up in between may have got pods already.
 */
const leftoversOf = async (reader: Reader, request: LookRequest, node: string, attachments: readonly V1VolumeAttachment[]): Promise<Leftovers> => {
  const [found, renewed] = await Promise.all([readNodePods(reader, node), readLease(reader, node)]);
  const taken = (await readNode(reader, node)) !== null;
  const [pods, lease] = taken ? [[], null] : [found, renewed];
  const claimed = await readClaimed(reader, pods);
  const own = attachments.filter(({ spec }) => spec.nodeName === node);
  const { remembered, clues, follow } = request;
  const volumes = await readVolumes(reader, {
    node,
    onStatus: [],
    remembered: remembered?.node === node ? remembered.volumes : [],
    read: [...claimed.values(), ...(await readSources(reader, own))],
    owns: notAnothers(clues),
  });
  return { taken, pods, claimed, lease, volumes: await Promise.all(volumes.map((volume) => followed(reader, volume, node, follow))) };
};

/** Looks for a machine whose Node is gone, or has been replaced by one of the same name. */
export const lookAfterNode = async (reader: Reader, request: LookRequest): Promise<NodeLook> => {
  const { clues, remembered } = request;
  const attachments = await leftAttachments(reader, request);
  const known = [request.node, remembered?.machine === clues.machine ? remembered.node : null].filter((name) => name !== null);
  const names = new Set([...known, ...attachments.map(({ spec }) => spec.nodeName)]);
  const left = await Promise.all([...names].map((name) => leftoversOf(reader, request, name, attachments)));
  return {
    node: null,
    nodeName: [...names][0] ?? null,
    nameTaken: left.some(({ taken }) => taken),
    pods: left.flatMap(({ pods, claimed }) => pods.map((pod) => podFactsOf(pod, claimed))),
    volumes: left.flatMap(({ volumes }) => volumes),
    lease: left.map(({ lease }) => lease).find((lease) => lease !== null) ?? null,
  };
};
