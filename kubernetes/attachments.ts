import { createHash } from 'node:crypto';
import {
  StorageV1Api,
  type V1PersistentVolume,
  type V1VolumeAttachment,
} from '@kubernetes/client-node/dist/gen/index.js';
import type { AttachmentFacts } from '../fencing/model/cluster-facts.ts';
import type { StepResult, NodeQuery, LookRequest } from '../fencing/model/cluster.ts';
import { Refused } from '../fencing/model/errors.ts';
import type { MachineId, VolumeHandle } from '../fencing/model/machine.ts';
import type { AttachmentTarget } from '../fencing/model/steps.ts';
import { deleteByUid, type ApiSession, pages, type Reader } from './connection.ts';
import { isNotFound, isPreconditionFailed } from './errors.ts';
import { NUDGE_ANNOTATION } from './names.ts';
import { attachmentIdentitySource } from './node.ts';
import { readVolume } from './volumes.ts';

/**
 * VolumeAttachments: their names, their machines, and the changes to them. The name of a Node does not show the machine
 * of an attachment, because a later machine may use the same name. The machine id that the attacher wrote on the
 * attachment shows it.
 */

/**
 * Returns the name that Kubernetes gives to the VolumeAttachment of a volume to a Node. See getAttachmentName in
 * pkg/volume/csi/csi_attacher.go.
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
  reader.readIfPresent(StorageV1Api, { name }, (storage, key) => storage.readVolumeAttachment(key));

/** Returns the machine whose id the attacher wrote on the attachment, or null if it wrote no id of this cloud. */
const recordedMachine = (
  attachment: V1VolumeAttachment,
  { machineOf }: Pick<NodeQuery, 'machineOf'>,
): MachineId | null => {
  const source = attachmentIdentitySource(attachment);
  return source && machineOf(source);
};

/**
 * Returns a filter that keeps the attachments which may belong to the queried machine. An attachment with another
 * machine's id belongs to another Node with the same name.
 */
export const mayBelongTo =
  (query: NodeQuery) =>
  (attachment: V1VolumeAttachment): boolean =>
    [query.machine, null].includes(recordedMachine(attachment, query));

/** Yields all attachments of the cluster, one page at a time. */
export const attachmentPages = (reader: Reader): AsyncGenerator<readonly V1VolumeAttachment[]> =>
  pages((paging) => reader.read(StorageV1Api, (storage) => storage.listVolumeAttachment(paging)));

/** Lists the attachments to a Node of this name. Searches the list of all attachments. */
export const listAttachmentsOnNode = async (reader: Reader, node: string): Promise<readonly V1VolumeAttachment[]> => {
  const found: V1VolumeAttachment[] = [];
  for await (const page of attachmentPages(reader)) found.push(...page.filter(({ spec }) => spec.nodeName === node));
  return found;
};

/**
 * Lists those attachments to a Node of this name that may belong to the queried machine. The search does not use the
 * Node's status, so it also finds attachments that the status no longer lists.
 */
export const searchAttachments = async (
  reader: Reader,
  node: string,
  query: NodeQuery,
): Promise<readonly V1VolumeAttachment[]> => (await listAttachmentsOnNode(reader, node)).filter(mayBelongTo(query));

/** Reads the current PersistentVolumes of the attachments. */
export const readAttachedVolumes = async (
  reader: Reader,
  attachments: readonly V1VolumeAttachment[],
): Promise<readonly V1PersistentVolume[]> => {
  const names = new Set(attachments.flatMap(({ spec }) => spec.source.persistentVolumeName ?? []));
  const volumes = await Promise.all([...names].map((name) => readVolume(reader, name)));
  return volumes.filter((volume) => volume !== null);
};

export interface LeftoverAttachments {
  /** Attachments on which the attacher wrote exactly this machine's id. */
  readonly own: readonly V1VolumeAttachment[];
  /** Attachments to a Node with one of the machine's names, without any machine id. */
  readonly unattributed: readonly V1VolumeAttachment[];
  /**
   * Names of other machines' attachments, by the name of their Node. Another machine uses each of these Node names now.
   */
  readonly ofOthers: ReadonlyMap<string, readonly string[]>;
}

const groupByOwner = (
  attachments: readonly V1VolumeAttachment[],
  { query, named = [] }: LookRequest,
): LeftoverAttachments => {
  const {
    own = [],
    another = [],
    unattributed = [],
  } = Object.groupBy(attachments, (attachment) => {
    const noted = recordedMachine(attachment, query);
    if (noted === null) return named.includes(attachment.spec.nodeName) ? 'unattributed' : 'nobody';
    return noted === query.machine ? 'own' : 'another';
  });
  const ofOthers = Map.groupBy(another, ({ spec }) => spec.nodeName);
  return {
    own,
    unattributed,
    ofOthers: new Map([...ofOthers].map(([node, found]) => [node, found.map(({ metadata }) => metadata?.name ?? '')])),
  };
};

/**
 * Searches the list of all attachments for everything that a look without a Node needs. This is necessary only while
 * the machine's attachments are unknown.
 */
const listLeftoverAttachments = async (reader: Reader, request: LookRequest): Promise<LeftoverAttachments> => {
  const own: V1VolumeAttachment[] = [];
  const unattributed: V1VolumeAttachment[] = [];
  const ofOthers = new Map<string, readonly string[]>();
  for await (const page of attachmentPages(reader)) {
    const found = groupByOwner(page, request);
    own.push(...found.own);
    unattributed.push(...found.unattributed);
    for (const [node, names] of found.ofOthers) ofOthers.set(node, [...(ofOthers.get(node) ?? []), ...names]);
  }
  return { own, unattributed, ofOthers };
};

/**
 * Returns what the attachments show about a machine without a Node. If `request.attachments` is known, reads only
 * these. Otherwise, lists all attachments.
 */
export const readLeftoverAttachments = async (reader: Reader, request: LookRequest): Promise<LeftoverAttachments> => {
  if (!request.attachments) return listLeftoverAttachments(reader, request);
  const read = await Promise.all(request.attachments.map((name) => readAttachment(reader, name)));
  return groupByOwner(
    read.filter((attachment) => attachment !== null),
    request,
  );
};

export const deleteAttachment = (
  { reader, writer }: ApiSession,
  { name, uid }: AttachmentTarget,
): Promise<StepResult> =>
  deleteByUid(
    uid,
    () =>
      writer.write(StorageV1Api, (storage) =>
        storage.deleteVolumeAttachment({ name, body: { preconditions: { uid } } }),
      ),
    () => readAttachment(reader, name),
  );

/**
 * Sets or removes a nudge. Any change of an attachment's metadata makes the attacher try again immediately, regardless
 * of its back-off.
 */
export const setNudge = async (
  { writer, now }: ApiSession,
  { name, uid }: AttachmentTarget,
  on: boolean,
): Promise<StepResult> => {
  const body = { metadata: { uid, annotations: { [NUDGE_ANNOTATION]: on ? new Date(now()).toISOString() : null } } };
  try {
    await writer.mergePatch(StorageV1Api, (storage) => storage.patchVolumeAttachment({ name, body }));
    return 'done';
  } catch (error) {
    if (isNotFound(error)) return 'already';
    throw isPreconditionFailed(error)
      ? new Refused(`VolumeAttachment ${name} no longer has the uid ${uid}`, { cause: error })
      : error;
  }
};
