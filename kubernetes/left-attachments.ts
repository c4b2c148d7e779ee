import type { V1VolumeAttachment } from '@kubernetes/client-node/dist/gen/index.js';
import type { Clues, LookRequest } from '../fencing/cluster.ts';
import { readAttachment } from './attachment-facts.ts';
import { attachmentPages, notedMachine } from './attachments-of.ts';
import type { Reader } from './connection.ts';

export interface LeftAttachments {
  /** Those that the attacher noted down for this very machine. */
  readonly own: readonly V1VolumeAttachment[];
  /** Names of Nodes to which another machine's disks are attached: another Node has come under that name since. */
  readonly anothers: ReadonlySet<string>;
}

const sorted = (attachments: readonly V1VolumeAttachment[], clues: Clues): LeftAttachments => {
  const { own = [], another = [] } = Object.groupBy(attachments, (attachment) => {
    const noted = notedMachine(attachment, clues);
    return noted === null ? 'nobody' : noted === clues.machine ? 'own' : 'another';
  });
  return { own, anothers: new Set(another.map(({ spec }) => spec.nodeName)) };
};

/** The one list of everything that a look without a Node needs, and only as long as it is not known what is in it. */
const listLeft = async (reader: Reader, clues: Clues): Promise<LeftAttachments> => {
  const own: V1VolumeAttachment[] = [];
  const anothers = new Set<string>();
  for await (const page of attachmentPages(reader)) {
    const found = sorted(page, clues);
    own.push(...found.own);
    for (const node of found.anothers) anothers.add(node);
  }
  return { own, anothers };
};

/** What the list of all attachments, or those of it that are known to matter, says of a machine without a Node. */
export const leftAttachments = async (reader: Reader, { clues, attachments }: LookRequest): Promise<LeftAttachments> => {
  if (!attachments) return listLeft(reader, clues);
  const read = await Promise.all(attachments.map((name) => readAttachment(reader, name)));
  return sorted(read.filter((attachment) => attachment !== null), clues);
};
