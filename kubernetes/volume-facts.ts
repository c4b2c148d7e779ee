import type { V1PersistentVolume, V1VolumeAttachment } from '@kubernetes/client-node/dist/gen/index.js';
import type { VolumeFacts } from '../fencing/model/cluster-facts.ts';
import type { VolumeHandle } from '../fencing/model/machine.ts';
import type { NamedVolume } from '../fencing/model/record.ts';
import { attachmentFacts, attachmentName, attachmentsOn, readAttachment } from './attachments.ts';
import { claimKey, handleOf, readVolume, volumeKey } from './volumes.ts';
import type { Reader } from './connection.ts';

/** All places where a Node's volumes are named. */
export interface VolumeTraces {
  readonly node: string;
  /** On the Node's status, where its kubelet writes what it likes. */
  readonly onStatus: readonly VolumeHandle[];
  /** Named by a pod or an attachment itself, without a PersistentVolume. */
  readonly bare: readonly VolumeHandle[];
  /** Keys of those that the Node's status reports as attached. */
  readonly reported: ReadonlySet<string>;
  /** In fencing records. */
  readonly remembered: readonly NamedVolume[];
  /** PersistentVolumes that were just read, by way of claims or attachments. */
  readonly read: readonly V1PersistentVolume[];
  /** Whether an attachment under the computed name is this Node's and not that of a later one of the same name. */
  readonly owns: (attachment: V1VolumeAttachment) => boolean;
}

/** A volume with what only the look itself needs. */
export interface SeenVolume {
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

const namedByRead = ({ read }: VolumeTraces) =>
  read.flatMap((volume) => {
    const handle = handleOf(volume);
    return handle ? [named(handle, volume.metadata?.name)] : [];
  });

/** More PersistentVolumes than these never go by one handle, but a record may be written to say so. */
const MOST_NAMES = 5;

const candidatesOf = (all: VolumeTraces): readonly Candidate[] => {
  const traces = [
    ...[...all.onStatus, ...all.bare].map((handle) => named(handle, null)),
    ...all.remembered.map((volume) => named(volume, volume.persistentVolume)),
    ...namedByRead(all),
  ];
  const groups = Map.groupBy(traces, volumeKey);
  return [...groups.values()].flatMap((group) => {
    const names = [...new Set(group.map(({ name }) => name).filter((name) => name !== ''))].slice(-MOST_NAMES);
    return group.slice(0, 1).map(({ driver, handle }) => ({ driver, handle, names }));
  });
};

const claimedBy = ({ spec }: V1PersistentVolume): string | null => {
  const { namespace, name } = spec?.claimRef ?? {};
  return namespace === undefined || name === undefined ? null : claimKey({ namespace, name });
};

/** The PersistentVolume that carries this very handle: a name alone may stand for another volume by now. */
const carrying = async (
  reader: Reader,
  candidate: VolumeHandle,
  names: Iterable<string>,
  known: readonly V1PersistentVolume[],
): Promise<V1PersistentVolume | null> => {
  for (const name of names) {
    const volume = known.find(({ metadata }) => metadata?.name === name) ?? (await readVolume(reader, name));
    const handle = volume && handleOf(volume);
    if (handle && volumeKey(handle) === volumeKey(candidate)) return volume;
  }
  return null;
};

type ReadAttachment = (name: string) => Promise<V1VolumeAttachment | null>;

const seen = async (
  reader: Reader,
  candidate: Candidate,
  { node, read, reported, owns }: VolumeTraces,
  attachmentAt: ReadAttachment,
): Promise<SeenVolume> => {
  const { driver, handle } = candidate;
  const name = attachmentName(candidate, node);
  const found = await attachmentAt(name);
  const attachment = found && owns(found) ? found : null;
  const source = attachment?.spec.source.persistentVolumeName;
  const volume = await carrying(
    reader,
    candidate,
    new Set([...(source === undefined ? [] : [source]), ...candidate.names]),
    read,
  );
  const facts = {
    driver,
    handle,
    key: volumeKey(candidate),
    persistentVolume: volume?.metadata?.name ?? null,
    claim: volume && claimedBy(volume),
    attachmentName: name,
    attachment: attachment && attachmentFacts(attachment),
    reported: reported.has(volumeKey(candidate)),
    successor: null,
  };
  return { facts, volume };
};

/**
 * A Node has about 128 attachments at the most. Where more are named, somebody makes them up, and they are not asked
 * for one by one.
 */
const MOST_ASKED = 300;

/**
 * What one list of all attachments shows on the Node, and what others than its kubelet name: of a record, as much as a
 * Node can have.
 */
const readBelievable = async (
  reader: Reader,
  traces: VolumeTraces,
  candidates: readonly Candidate[],
): Promise<readonly SeenVolume[]> => {
  const attached = new Map(
    (await attachmentsOn(reader, traces.node)).map((attachment) => [attachment.metadata?.name ?? '', attachment]),
  );
  const sure = new Set(
    [...namedByRead(traces), ...traces.bare, ...traces.remembered.slice(0, MOST_ASKED)].map(volumeKey),
  );
  const believable = candidates.filter(
    (candidate) => sure.has(volumeKey(candidate)) || attached.has(attachmentName(candidate, traces.node)),
  );
  return Promise.all(
    believable.map((candidate) => seen(reader, candidate, traces, async (name) => attached.get(name) ?? null)),
  );
};

/** Every volume that hangs on the Node, each once, with its attachment and PersistentVolume as they stand now. */
export const readVolumes = (reader: Reader, traces: VolumeTraces): Promise<readonly SeenVolume[]> => {
  const candidates = candidatesOf(traces);
  if (candidates.length > MOST_ASKED) return readBelievable(reader, traces, candidates);
  return Promise.all(
    candidates.map((candidate) => seen(reader, candidate, traces, (name) => readAttachment(reader, name))),
  );
};
