import type { VolumeAttachmentObject } from '../objects.ts';
import type { AttacherWork } from './memory.ts';
import type { ClusterWorld } from '../cluster-world.ts';

const watchTakes = 10;

const freshWork = (): AttacherWork => ({
  stage: 'idle',
  kind: 'attach',
  began: 0,
  dirty: false,
  prepared: false,
  failures: 0,
  seen: '',
});

export const workFor = (world: ClusterWorld, name: string): AttacherWork =>
  (world.parts.cluster.memory.attacher[name] ??= freshWork());

/**
 * Errors of the last call are left out: external-attacher does not look again if only they change
 * (shouldEnqueueVAChange).
 */
const fingerprint = ({ metadata, spec, status }: VolumeAttachmentObject): string => {
  const { resourceVersion: _, ...lasting } = metadata;
  return JSON.stringify([lasting, spec, status.attached]);
};

/**
 * The attacher handles any other change of a VolumeAttachment immediately, even during a back-off. For this reason, a
 * nudge works.
 */
export const noticeAttachment = (world: ClusterWorld, attachment: VolumeAttachmentObject, stands: boolean): void => {
  const { name } = attachment.metadata;
  if (!stands) return void delete world.parts.cluster.memory.attacher[name];
  const work = workFor(world, name);
  const seen = fingerprint(attachment);
  if (seen === work.seen) return;
  work.seen = seen;
  if (work.stage === 'idle') world.schedule('external-attacher', watchTakes, name);
  else work.dirty = true;
};
