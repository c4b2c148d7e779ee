import { StorageV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { Applied } from '../fencing/cluster.ts';
import { Refused } from '../fencing/errors.ts';
import type { AttachmentTarget } from '../fencing/steps.ts';
import type { Desk } from './desk.ts';
import { readAttachment } from './attachment-facts.ts';
import { deleting } from './deleting.ts';
import { saysAbsent, saysChanged } from './errors.ts';
import { NUDGE_ANNOTATION } from './names.ts';

export const deleteAttachment = ({ reader, writer }: Desk, { name, uid }: AttachmentTarget): Promise<Applied> =>
  deleting(
    uid,
    () => writer.write(StorageV1Api, (storage) => storage.deleteVolumeAttachment({ name, body: { preconditions: { uid } } })),
    () => readAttachment(reader, name),
  );

/** Any change of an attachment's metadata makes the attacher try again at once, whatever its backoff. */
export const nudge = async ({ writer, now }: Desk, { name, uid }: AttachmentTarget, on: boolean): Promise<Applied> => {
  const body = { metadata: { uid, annotations: { [NUDGE_ANNOTATION]: on ? new Date(now()).toISOString() : null } } };
  try {
    await writer.mergePatch(StorageV1Api, (storage) => storage.patchVolumeAttachment({ name, body }));
    return 'done';
  } catch (error) {
    if (saysAbsent(error)) return 'already';
    throw saysChanged(error) ? new Refused(`${name} is not the attachment of uid ${uid} any more`, { cause: error }) : error;
  }
};
