import type { V1PersistentVolume, V1VolumeAttachment } from '@kubernetes/client-node/dist/gen/index.js';
import type { VolumeFacts } from '../fencing/model/cluster-facts.ts';
import type { VolumeHandle } from '../fencing/model/machine.ts';
import type { NamedVolume } from '../fencing/model/record.ts';
import { attachmentFacts, attachmentName, listAttachmentsOnNode, readAttachment } from './attachments.ts';
import type { Reader } from './connection.ts';
import { pvcKey, csiHandleOf, readVolume, volumeKey } from './volumes.ts';

/**
 * Collects the volumes of one Node from all sources that name them, and reads the attachment and the PersistentVolume
 * of each. No source is trusted alone: a handle counts only if the object that was read has the same handle.
 */

/** All sources that name the volumes of a Node. */
export interface VolumeSources {
  readonly node: string;
  /** Another machine uses the name of the Node now. */
  readonly nameTaken: boolean;
  /** In the Node's status, in which its kubelet can write anything. */
  readonly onStatus: readonly VolumeHandle[];
  /** Volumes that a pod or an attachment names itself, without a PersistentVolume. */
  readonly inline: readonly VolumeHandle[];
  /** Keys of the volumes that the Node's status reports as attached. */
  readonly reported: ReadonlySet<string>;
  /** In fence records, and in earlier looks of the run. */
  readonly remembered: readonly Pick<NamedVolume, 'driver' | 'handle' | 'persistentVolume'>[];
  /** PersistentVolumes that this look has just read through claims or attachments. */
  readonly persistentVolumes: readonly V1PersistentVolume[];
  /** Attachments that this look has just read by name, with the result. */
  readonly attachments: ReadonlyMap<string, V1VolumeAttachment | null>;
  /**
   * Returns whether an attachment with the computed name belongs to this Node, and not to a later Node with the same
   * name.
   */
  readonly isOfThisNode: (attachment: V1VolumeAttachment) => boolean;
  /**
   * Returns whether the claim of this volume is needed. If not, the name of the PersistentVolume is sufficient, and an
   * existing attachment shows it.
   */
  readonly needsClaim: (key: string) => boolean;
}

/** A volume's facts, with the data that only the look itself needs. */
export interface FoundVolume {
  readonly facts: VolumeFacts;
  readonly volume: V1PersistentVolume | null;
}

interface Candidate extends VolumeHandle {
  readonly names: readonly string[];
}

const named = ({ driver, handle }: VolumeHandle, name: string | null | undefined) => ({
  driver,
  handle,
  name: name ?? '',
});

const namedByRead = ({ persistentVolumes }: VolumeSources) =>
  persistentVolumes.flatMap((volume) => {
    const handle = csiHandleOf(volume);
    return handle ? [named(handle, volume.metadata?.name)] : [];
  });

/**
 * The maximum number of PersistentVolume names to read for one handle. A real handle never has more, but someone may
 * write such a record.
 */
const MOST_NAMES = 5;

const candidatesOf = (all: VolumeSources): readonly Candidate[] => {
  const sources = [
    ...[...all.onStatus, ...all.inline].map((handle) => named(handle, null)),
    ...all.remembered.map((volume) => named(volume, volume.persistentVolume)),
    ...namedByRead(all),
  ];
  const groups = Map.groupBy(sources, volumeKey);
  return [...groups.values()].flatMap((group) => {
    const names = [...new Set(group.map(({ name }) => name).filter((name) => name !== ''))].slice(-MOST_NAMES);
    return group.slice(0, 1).map(({ driver, handle }) => ({ driver, handle, names }));
  });
};

const pvcKeyOf = ({ spec }: V1PersistentVolume): string | null => {
  const { namespace, name } = spec?.claimRef ?? {};
  return namespace === undefined || name === undefined ? null : pvcKey({ namespace, name });
};

/**
 * Returns the PersistentVolume with exactly this handle. A name alone is not sufficient, because another volume may
 * have it now.
 */
const volumeWithHandle = async (
  reader: Reader,
  candidate: VolumeHandle,
  names: Iterable<string>,
  known: readonly V1PersistentVolume[],
): Promise<V1PersistentVolume | null> => {
  for (const name of names) {
    const volume = known.find(({ metadata }) => metadata?.name === name) ?? (await readVolume(reader, name));
    const handle = volume && csiHandleOf(volume);
    if (handle && volumeKey(handle) === volumeKey(candidate)) return volume;
  }
  return null;
};

type ReadAttachment = (name: string) => Promise<V1VolumeAttachment | null>;

/**
 * Returns the PersistentVolume that an existing attachment names, or null. Nobody can change the names in an
 * attachment, and the attacher keeps the PersistentVolume while the attachment exists.
 */
const shownBy = (attachment: V1VolumeAttachment | null, { driver }: VolumeHandle): string | null =>
  attachment?.spec.attacher === driver ? (attachment.spec.source.persistentVolumeName ?? null) : null;

const findVolume = async (
  reader: Reader,
  candidate: Candidate,
  { node, nameTaken, persistentVolumes, reported, isOfThisNode, needsClaim }: VolumeSources,
  attachmentAt: ReadAttachment,
): Promise<FoundVolume> => {
  const { driver, handle } = candidate;
  const name = attachmentName(candidate, node);
  const found = await attachmentAt(name);
  const attachment = found && isOfThisNode(found) ? found : null;
  const source = attachment?.spec.source.persistentVolumeName;
  const names = new Set([...(source === undefined ? [] : [source]), ...candidate.names]);
  const isRead = persistentVolumes.some(({ metadata }) => metadata?.name === source);
  const shown = isRead || needsClaim(volumeKey(candidate)) ? null : shownBy(attachment, candidate);
  const volume = shown === null ? await volumeWithHandle(reader, candidate, names, persistentVolumes) : null;
  const facts = {
    driver,
    handle,
    key: volumeKey(candidate),
    persistentVolume: shown ?? volume?.metadata?.name ?? null,
    pvc: volume && pvcKeyOf(volume),
    attachmentName: name,
    attachment: attachment && attachmentFacts(attachment),
    node,
    nameTaken,
    reported: reported.has(volumeKey(candidate)),
    successor: null,
  };
  return { facts, volume };
};

/**
 * The maximum number of volumes to read one by one. A real Node has at most about 128 attachments. If there are more
 * names, someone invented them.
 */
const MOST_ASKED = 300;

/**
 * Reads the volumes that a list of all attachments shows on the Node, and those that a source other than the Node's
 * kubelet names. From a record, it reads only as many as a Node can have.
 */
const readBelievable = async (
  reader: Reader,
  sources: VolumeSources,
  candidates: readonly Candidate[],
): Promise<readonly FoundVolume[]> => {
  const attached = new Map(
    (await listAttachmentsOnNode(reader, sources.node)).map((attachment) => [
      attachment.metadata?.name ?? '',
      attachment,
    ]),
  );
  const sure = new Set(
    [...namedByRead(sources), ...sources.inline, ...sources.remembered.slice(0, MOST_ASKED)].map(volumeKey),
  );
  const believable = candidates.filter(
    (candidate) => sure.has(volumeKey(candidate)) || attached.has(attachmentName(candidate, sources.node)),
  );
  return Promise.all(
    believable.map((candidate) => findVolume(reader, candidate, sources, async (name) => attached.get(name) ?? null)),
  );
};

/**
 * Reads the attachments of volumes whose handles are known before their PersistentVolumes are read. If there are more
 * volumes than a Node can have, it reads none of them, because `readVolumes` then uses one list.
 */
export const readAttachmentsOf = async (
  reader: Reader,
  node: string,
  volumes: readonly VolumeHandle[],
): Promise<VolumeSources['attachments']> => {
  const names = new Set(volumes.map((volume) => attachmentName(volume, node)));
  if (names.size > MOST_ASKED) return new Map();
  return new Map(
    await Promise.all([...names].map(async (name) => [name, await readAttachment(reader, name)] as const)),
  );
};

/**
 * Returns the volumes behind these attachments, by the name of the PersistentVolume. The name of an attachment is
 * computed from the volume's driver and handle, and the attachment names the PersistentVolume. Nobody can change either
 * of them.
 */
export const volumesBehind = (
  volumes: readonly VolumeHandle[],
  node: string,
  attachments: VolumeSources['attachments'],
): ReadonlyMap<string, VolumeHandle> =>
  new Map(
    volumes.flatMap((volume) => {
      const { attacher, source } = attachments.get(attachmentName(volume, node))?.spec ?? {};
      const name = attacher === volume.driver ? source?.persistentVolumeName : undefined;
      return name === undefined ? [] : [[name, volume] as const];
    }),
  );

/** Returns each volume of the Node once, with its current attachment and PersistentVolume. */
export const readVolumes = (reader: Reader, sources: VolumeSources): Promise<readonly FoundVolume[]> => {
  const candidates = candidatesOf(sources);
  if (candidates.length > MOST_ASKED) return readBelievable(reader, sources, candidates);
  const attachmentAt: ReadAttachment = async (name) => {
    const known = sources.attachments.get(name);
    return known === undefined ? readAttachment(reader, name) : known;
  };
  return Promise.all(candidates.map((candidate) => findVolume(reader, candidate, sources, attachmentAt)));
};
