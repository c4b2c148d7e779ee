import type { V1VolumeAttachment } from '@kubernetes/client-node/dist/gen/index.js';
import { StorageV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { AttachmentFacts } from '../fencing/cluster-facts.ts';
import { attachmentCarrier } from './carriers.ts';
import type { Reader } from './connection.ts';
import { NUDGE_ANNOTATION } from './names.ts';

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
    carrier: attachmentCarrier(attachment),
  };
};

export const readAttachment = (reader: Reader, name: string): Promise<V1VolumeAttachment | null> =>
  reader.readIfPresent(StorageV1Api, (storage) => storage.readVolumeAttachment({ name }));
