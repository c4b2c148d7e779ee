import { createHash } from 'node:crypto';
import {
  StorageV1Api,
  type V1PersistentVolume,
  type V1VolumeAttachment,
} from '@kubernetes/client-node/dist/gen/index.js';
import type { AttachmentFacts } from '../fencing/model/cluster-facts.ts';
import type { StepResult, NodeQuery, LookRequest } from '../fencing/model/cluster.ts';
import { Refused } from '../fencing/model/errors.ts';
import type { IdentitySource, MachineId, VolumeHandle } from '../fencing/model/machine.ts';
import type { AttachmentTarget } from '../fencing/model/steps.ts';
import { deleting, type ApiSession, pages, type Reader } from './connection.ts';
import { saysAbsent, saysChanged } from './errors.ts';
import { NUDGE_ANNOTATION } from './names.ts';
import { attachmentIdentitySource } from './node.ts';
import { readVolume } from './volumes.ts';

/**
 * The name that Kubernetes gives a volume's VolumeAttachment to a Node: pkg/volume/csi/csi_attacher.go,
 * getAttachmentName.
 */
export const attachmentName = ({ driver, handle }: VolumeHandle, node: string): string =>
  `csi-${createHash('sha256').update(`${handle}${driver}${node}`).digest('hex')}`;

export const attachmentFacts = (attachment: V1VolumeAttachment): AttachmentFacts => {
  const { metadata, status } = attachment;
  return {
    name: metadata?.name ?? '',
    uid: metadata?.uid ?? '',
    attached: status?.attached ?? false,
    created: metadata?.creationTimestamp?.getTime() ?? 0,
    deletingSince: metadata?.deletionTimestamp?.getTime() ?? null,
    detachError: status?.detachError?.message ?? null,
    attachError: status?.attachError?.message ?? null,
    nudged: metadata?.annotations?.[NUDGE_ANNOTATION] !== undefined,
    source: attachmentIdentitySource(attachment),
  };
};

export const readAttachment = (reader: Reader, name: string): Promise<V1VolumeAttachment | null> =>
  reader.readIfPresent(StorageV1Api, (storage) => storage.readVolumeAttachment({ name }));

/** The machine that the attacher noted on the attachment, or null when it noted none of this cloud. */
const notedMachine = (
  attachment: V1VolumeAttachment,
  { machineOf }: Pick<NodeQuery, 'machineOf'>,
): MachineId | null => {
  const source = attachmentIdentitySource(attachment);
  return source && machineOf(source);
};

/** An attachment that bears another machine's id is that of another Node of the same name. */
export const notAnothers =
  (clues: NodeQuery) =>
  (attachment: V1VolumeAttachment): boolean =>
    [clues.machine, null].includes(notedMachine(attachment, clues));

/** All attachments of the cluster, a page at a time. */
const attachmentPages = (reader: Reader): AsyncGenerator<readonly V1VolumeAttachment[]> =>
  pages((paging) => reader.read(StorageV1Api, (storage) => storage.listVolumeAttachment(paging)));

/** Attachments to a Node of this name, found in the list of all. */
export const attachmentsOn = async (reader: Reader, node: string): Promise<readonly V1VolumeAttachment[]> => {
  const found: V1VolumeAttachment[] = [];
  for await (const page of attachmentPages(reader)) found.push(...page.filter(({ spec }) => spec.nodeName === node));
  return found;
};

/** The machine's among them: none is left out because the Node's status does not name it any more. */
export const searchAttachments = async (
  reader: Reader,
  node: string,
  clues: NodeQuery,
): Promise<readonly V1VolumeAttachment[]> => (await attachmentsOn(reader, node)).filter(notAnothers(clues));

/** The PersistentVolumes that the attachments attach, as they stand now. */
export const readSources = async (
  reader: Reader,
  attachments: readonly V1VolumeAttachment[],
): Promise<readonly V1PersistentVolume[]> => {
  const names = new Set(attachments.flatMap(({ spec }) => spec.source.persistentVolumeName ?? []));
  const volumes = await Promise.all([...names].map((name) => readVolume(reader, name)));
  return volumes.filter((volume) => volume !== null);
};

/** Attachments to one Node that tell the same of its machine, by name; a null source tells nothing. */
export interface Attached {
  readonly source: IdentitySource | null;
  readonly names: readonly string[];
}

interface Noted {
  readonly source: IdentitySource | null;
  readonly names: string[];
}

type ByNode = ReadonlyMap<string, readonly Attached[]>;

const note = (found: Map<string, Map<string, Noted>>, attachment: V1VolumeAttachment): void => {
  const { nodeName } = attachment.spec;
  const source = attachmentIdentitySource(attachment);
  const key = source ? `${source.driver} ${source.value}` : '';
  const noted = found.get(nodeName) ?? new Map<string, Noted>();
  const same = noted.get(key) ?? { source, names: [] };
  same.names.push(attachment.metadata?.name ?? '');
  found.set(nodeName, noted.set(key, same));
};

/**
 * Of the Nodes that are sure only one id a driver is kept: enough to see that another one is noted under the same name.
 */
const watchful = () => {
  const ids = new Map<string, string>();
  const contested = new Set<string>();
  const watch = (attachment: V1VolumeAttachment): void => {
    const source = attachmentIdentitySource(attachment);
    if (!source) return;
    const key = `${attachment.spec.nodeName} ${source.driver}`;
    const known = ids.get(key);
    if (known === undefined) ids.set(key, source.value);
    else if (known !== source.value) contested.add(attachment.spec.nodeName);
  };
  return { contested, watch };
};

const readAttached = async (
  reader: Reader,
  wanted: (node: string) => boolean,
  others: (attachment: V1VolumeAttachment) => void,
): Promise<ByNode> => {
  const found = new Map<string, Map<string, Noted>>();
  for await (const page of attachmentPages(reader)) {
    for (const attachment of page) {
      if (wanted(attachment.spec.nodeName)) note(found, attachment);
      else others(attachment);
    }
  }
  return new Map([...found].map(([node, noted]) => [node, [...noted.values()]]));
};

/**
 * Attachments to Nodes without a fresh Lease, and to those under whose name one driver noted two machines: a living
 * Node may have got the name of a dead one. The list is read again for the latter, who are rare, and so is not kept
 * whole.
 */
export const readDoubtful = async (reader: Reader, fresh: ReadonlySet<string>): Promise<ByNode> => {
  const { contested, watch } = watchful();
  const doubtful = await readAttached(reader, (node) => !fresh.has(node), watch);
  if (contested.size === 0) return doubtful;
  return new Map([
    ...doubtful,
    ...(await readAttached(
      reader,
      (node) => contested.has(node),
      () => undefined,
    )),
  ]);
};

export interface LeftAttachments {
  /** Those that the attacher noted down for this very machine. */
  readonly own: readonly V1VolumeAttachment[];
  /** Those to a Node of the machine's names for which no machine was noted down. */
  readonly silent: readonly V1VolumeAttachment[];
  /** Names of Nodes to which another machine's disks are attached: another Node has come under that name since. */
  readonly anothers: ReadonlySet<string>;
}

const sorted = (attachments: readonly V1VolumeAttachment[], { clues, named = [] }: LookRequest): LeftAttachments => {
  const {
    own = [],
    another = [],
    silent = [],
  } = Object.groupBy(attachments, (attachment) => {
    const noted = notedMachine(attachment, clues);
    if (noted === null) return named.includes(attachment.spec.nodeName) ? 'silent' : 'nobody';
    return noted === clues.machine ? 'own' : 'another';
  });
  return { own, silent, anothers: new Set(another.map(({ spec }) => spec.nodeName)) };
};

/** The one list of everything that a look without a Node needs, and only as long as it is not known what is in it. */
const listLeft = async (reader: Reader, request: LookRequest): Promise<LeftAttachments> => {
  const own: V1VolumeAttachment[] = [];
  const silent: V1VolumeAttachment[] = [];
  const anothers = new Set<string>();
  for await (const page of attachmentPages(reader)) {
    const found = sorted(page, request);
    own.push(...found.own);
    silent.push(...found.silent);
    for (const node of found.anothers) anothers.add(node);
  }
  return { own, silent, anothers };
};

/** What the list of all attachments, or those of it that are known to matter, says of a machine without a Node. */
export const leftAttachments = async (reader: Reader, request: LookRequest): Promise<LeftAttachments> => {
  if (!request.attachments) return listLeft(reader, request);
  const read = await Promise.all(request.attachments.map((name) => readAttachment(reader, name)));
  return sorted(
    read.filter((attachment) => attachment !== null),
    request,
  );
};

export const deleteAttachment = (
  { reader, writer }: ApiSession,
  { name, uid }: AttachmentTarget,
): Promise<StepResult> =>
  deleting(
    uid,
    () =>
      writer.write(StorageV1Api, (storage) =>
        storage.deleteVolumeAttachment({ name, body: { preconditions: { uid } } }),
      ),
    () => readAttachment(reader, name),
  );

/** Any change of an attachment's metadata makes the attacher try again at once, whatever its backoff. */
export const nudge = async (
  { writer, now }: ApiSession,
  { name, uid }: AttachmentTarget,
  on: boolean,
): Promise<StepResult> => {
  const body = { metadata: { uid, annotations: { [NUDGE_ANNOTATION]: on ? new Date(now()).toISOString() : null } } };
  try {
    await writer.mergePatch(StorageV1Api, (storage) => storage.patchVolumeAttachment({ name, body }));
    return 'done';
  } catch (error) {
    if (saysAbsent(error)) return 'already';
    throw saysChanged(error)
      ? new Refused(`${name} is not the attachment of uid ${uid} any more`, { cause: error })
      : error;
  }
};
