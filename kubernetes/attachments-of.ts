import type { V1PersistentVolume, V1VolumeAttachment } from '@kubernetes/client-node/dist/gen/index.js';
import { StorageV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { Clues } from '../fencing/cluster.ts';
import type { MachineId } from '../fencing/machine.ts';
import { attachmentCarrier } from './carriers.ts';
import { readVolume } from './claims.ts';
import type { Reader } from './connection.ts';
import { pages } from './pages.ts';

/** The machine that the attacher noted on the attachment, or null when it noted none of this cloud. */
export const notedMachine = (attachment: V1VolumeAttachment, { machineOf }: Pick<Clues, 'machineOf'>): MachineId | null => {
  const carrier = attachmentCarrier(attachment);
  return carrier && machineOf(carrier);
};

/** An attachment that bears another machine's id is that of another Node of the same name. */
export const notAnothers =
  (clues: Clues) =>
  (attachment: V1VolumeAttachment): boolean =>
    [clues.machine, null].includes(notedMachine(attachment, clues));

/** All attachments of the cluster, a page at a time. */
export const attachmentPages = (reader: Reader): AsyncGenerator<readonly V1VolumeAttachment[]> =>
  pages((paging) => reader.read(StorageV1Api, (storage) => storage.listVolumeAttachment(paging)));

/** Attachments to a Node of this name, found in the list of all. */
export const attachmentsOn = async (reader: Reader, node: string): Promise<readonly V1VolumeAttachment[]> => {
  const found: V1VolumeAttachment[] = [];
  for await (const page of attachmentPages(reader)) found.push(...page.filter(({ spec }) => spec.nodeName === node));
  return found;
};

/** The machine's among them: none is left out because the Node's status does not name it any more. */
export const searchAttachments = async (reader: Reader, node: string, clues: Clues): Promise<readonly V1VolumeAttachment[]> =>
  (await attachmentsOn(reader, node)).filter(notAnothers(clues));

/** The PersistentVolumes that the attachments attach, as they stand now. */
export const readSources = async (reader: Reader, attachments: readonly V1VolumeAttachment[]): Promise<readonly V1PersistentVolume[]> => {
  const names = new Set(attachments.flatMap(({ spec }) => spec.source.persistentVolumeName ?? []));
  const volumes = await Promise.all([...names].map((name) => readVolume(reader, name)));
  return volumes.filter((volume) => volume !== null);
};
