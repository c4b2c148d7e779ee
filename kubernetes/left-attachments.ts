import type { V1VolumeAttachment } from '@kubernetes/client-node/dist/gen/index.js';
import type { LookRequest } from '../fencing/cluster.ts';
import { readAttachment } from './attachment-facts.ts';
import { attachmentPages, notedMachine } from './attachments-of.ts';
import type { Reader } from './connection.ts';

export interface LeftAttachments {
  /** Those that the attacher noted down for this very machine. */
  readonly own: readonly V1VolumeAttachment[];
  /** Those to a Node of the machine's names for which no machine was noted down. */
  readonly silent: readonly V1VolumeAttachment[];
  /** Names of Nodes to which another machine's disks are attached: another Node has come under that name since. */
  readonly anothers: ReadonlySet<string>;
}

const sorted = (attachments: readonly V1VolumeAttachment[], { clues, named = [] }: LookRequest): LeftAttachments => {
  const { own = [], another = [], silent = [] } = Object.groupBy(attachments, (attachment) => {
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
  return sorted(read.filter((attachment) => attachment !== null), request);
};
