import type { VolumeAttachmentObject } from '../objects.ts';
import { workFor } from './attacher-queue.ts';
import { attacherRuns } from './attacher-leader.ts';
import type { ObjectWriter } from './object-writer.ts';
import { writerAs } from './object-writer.ts';
import { getObject } from '../get-objects.ts';
import type { CloudView } from './cloud-view.ts';
import type { AttacherWork } from './memory.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { between, timestamp } from './times.ts';
import type { AttachableVolume } from './volumes.ts';
import { attachableNamed } from './volumes.ts';

const nodeIdAnnotation = 'csi.alpha.kubernetes.io/node-id';

/**
 * Calibrated: the EBS driver batches its describe call before the first attempt, and polls after the call. Retries fail
 * sooner, but a successful one takes the usual time. A volume that is already detached needs no poll.
 */
const batching = { first: 500, retry: 100 };
const successTakes = 1_000;
const pollEvery = 500;
/** The additional time of a call to the cloud and back. */
const overhead = { least: 0, most: 70 };
/** The `--timeout` of the EBS driver's chart. */
const callTimeout = 360_000;
const retryFrom = 1_000;
const retryUpTo = 300_000;
const lookAgain = 1_000;

const userOf = (driver: string): string => `external-attacher/${driver}`;

const finalizerOf = (driver: string): string => `external-attacher/${driver.replace(/[^a-zA-Z0-9-]/g, '-')}`;

/**
 * external-attacher's syncVA: publishes wanted attachments, unpublishes attachments that are being deleted, and starts
 * again later after an error.
 */
export const syncAttachment = (cloudView: CloudView, world: ClusterWorld, name: string): void => {
  const attachment = getObject(world, 'volumeattachments', name);
  if (!attachment) return void delete world.parts.cluster.memory.attacher[name];
  if (!attacherRuns(cloudView, world)) return forgetUntilUp(world, name);
  const work = workFor(world, name);
  if (work.stage !== 'idle') return;
  Object.assign(work, { dirty: false, prepared: false } satisfies Partial<AttacherWork>);
  const leaving = attachment.metadata.deletionTimestamp !== undefined;
  if (
    leaving
      ? !attachment.metadata.finalizers?.includes(finalizerOf(attachment.spec.attacher))
      : attachment.status.attached
  )
    return;
  const target = targetOf(world, attachment);
  if (typeof target === 'string') return failed(world, attachment, work, leaving ? 'detach' : 'attach', target);
  if (!leaving) prepare(world, attachment, target.machine);
  Object.assign(work, {
    stage: 'batching',
    kind: leaving ? 'detach' : 'attach',
    began: world.now(),
  } satisfies Partial<AttacherWork>);
  callSoon(world, name, work);
};

const callSoon = (world: ClusterWorld, name: string, { failures }: AttacherWork): void =>
  world.schedule(
    'external-attacher/call',
    batchingAfter(failures) + between(world, overhead.least, overhead.most),
    name,
  );

const batchingAfter = (failures: number): number => (failures === 0 ? batching.first : batching.retry);

/** A stopped process loses its calls and its back-off. */
const forgetUntilUp = (world: ClusterWorld, name: string): void => {
  Object.assign(workFor(world, name), {
    stage: 'idle',
    dirty: false,
    prepared: false,
    failures: 0,
  } satisfies Partial<AttacherWork>);
  world.schedule('external-attacher', lookAgain, name);
};

/** The node's id comes from CSINode, or from the annotation that the attach wrote on the VolumeAttachment. */
const targetOf = (
  world: ClusterWorld,
  { metadata, spec }: VolumeAttachmentObject,
): { volume: AttachableVolume; machine: string } | string => {
  const volume = attachableNamed(world, spec.source.persistentVolumeName ?? '');
  if (!volume) return `could not get PersistentVolume "${spec.source.persistentVolumeName ?? ''}"`;
  const driver = getObject(world, 'csinodes', spec.nodeName)?.spec.drivers.find(
    (known) => known.name === spec.attacher,
  );
  const machine = driver?.nodeID ?? metadata.annotations?.[nodeIdAnnotation];
  return machine === undefined
    ? `CSINode ${spec.nodeName} does not contain driver ${spec.attacher}`
    : { volume, machine };
};

const prepare = (world: ClusterWorld, attachment: VolumeAttachmentObject, machine: string): void => {
  const finalizer = finalizerOf(attachment.spec.attacher);
  const { finalizers = [], annotations = {} } = attachment.metadata;
  if (finalizers.includes(finalizer) && annotations[nodeIdAnnotation] === machine) return;
  writerFor(world, attachment).change('volumeattachments', attachment, (draft) => {
    draft.metadata.finalizers = [...finalizers.filter((other) => other !== finalizer), finalizer];
    draft.metadata.annotations = { ...annotations, [nodeIdAnnotation]: machine };
  });
  workFor(world, attachment.metadata.name).prepared = true;
};

/** One call of the driver, or one poll of a call in progress. */
export const callDriver = (cloudView: CloudView, world: ClusterWorld, name: string): void => {
  const attachment = getObject(world, 'volumeattachments', name);
  if (!attachment) return;
  const work = workFor(world, name);
  if (work.stage === 'idle') return;
  if (!attacherRuns(cloudView, world)) return forgetUntilUp(world, name);
  const target = targetOf(world, attachment);
  if (typeof target === 'string') return failed(world, attachment, work, work.kind, target);
  const call = work.kind === 'attach' ? cloudView.publish : cloudView.unpublish;
  const answer = call(target.volume.handle, target.machine);
  if (typeof answer === 'object') return failed(world, attachment, work, work.kind, answer.error);
  if (answer === 'done' && (work.stage === 'polling' || work.kind === 'detach'))
    return succeeded(world, attachment, work);
  if (world.now() - work.began > callTimeout) return failed(world, attachment, work, work.kind, deadlineExceeded);
  world.schedule(
    'external-attacher/call',
    work.stage === 'polling' ? pollEvery : successTakes - batchingAfter(work.failures),
    name,
  );
  work.stage = 'polling';
};

const deadlineExceeded = 'rpc error: code = DeadlineExceeded desc = context deadline exceeded';

const succeeded = (world: ClusterWorld, attachment: VolumeAttachmentObject, work: AttacherWork): void => {
  const again = work.prepared;
  Object.assign(work, {
    stage: again ? 'batching' : 'idle',
    began: world.now(),
    prepared: false,
    failures: 0,
  } satisfies Partial<AttacherWork>);
  if (work.kind === 'detach') letGo(world, attachment);
  else if (!attachment.status.attached || attachment.status.attachError) sayAttached(world, attachment);
  if (again) callSoon(world, attachment.metadata.name, work);
  else if (work.dirty) world.schedule('external-attacher', 0, attachment.metadata.name);
};

/**
 * Its own patch before the call has queued the attachment again, and the cache does not show yet that it is attached.
 * So each attachment is published twice (measured).
 */
const sayAttached = (world: ClusterWorld, attachment: VolumeAttachmentObject): void =>
  void writerFor(world, attachment).change(
    'volumeattachments',
    attachment,
    (draft) => void (draft.status = { attached: true }),
  );

const letGo = (world: ClusterWorld, attachment: VolumeAttachmentObject): void => {
  writerFor(world, attachment).change('volumeattachments', attachment, (draft) => {
    draft.status = { attached: false };
    draft.metadata.finalizers = (draft.metadata.finalizers ?? []).filter(
      (finalizer) => finalizer !== finalizerOf(draft.spec.attacher),
    );
  });
};

const failed = (
  world: ClusterWorld,
  attachment: VolumeAttachmentObject,
  work: AttacherWork,
  kind: AttacherWork['kind'],
  message: string,
): void => {
  work.stage = 'idle';
  work.failures += 1;
  writerFor(world, attachment).change('volumeattachments', attachment, (draft) => {
    const error = { time: timestamp(world.now()), message };
    if (kind === 'attach') draft.status.attachError = error;
    else draft.status.detachError = error;
  });
  const wait = Math.min(retryFrom * 2 ** (work.failures - 1), retryUpTo);
  world.schedule('external-attacher', work.dirty || work.prepared ? 0 : wait, attachment.metadata.name);
};

const writerFor = (world: ClusterWorld, attachment: VolumeAttachmentObject): ObjectWriter =>
  writerAs(world, userOf(attachment.spec.attacher));
