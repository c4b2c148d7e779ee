import type { VolumeAttachmentObject } from '../objects.ts';
import { writerAs } from './object-writer.ts';
import { getObject } from '../get-objects.ts';
import { attachmentKey } from './desired-state.ts';
import { reportAttachFailed } from './attach-events.ts';
import type { VolumeOperation } from './memory.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { attachableNamed, attachmentName } from './volumes.ts';

/** A volume on a node, by attach-detach's name and by the PersistentVolume's name. */
export type AttachmentKey = Pick<VolumeOperation, 'unique' | 'node' | 'volume'>;

const loop = 100;
/**
 * How attach-detach polls a VolumeAttachment that it waits for, because it does not watch it (csi_attacher.go,
 * waitForVolumeAttachDetachStatusWithLister).
 */
const look = { first: 500, longest: 7_000, factor: 1.05, jitter: 0.1 };
/** How long attach-detach waits for a change of a VolumeAttachment. */
const TIMEOUT_MS = 120_000;
const firstWait = 500;
const longestWait = 122_000;

/** Allows one operation at a time on a volume, or for each node if the volume can be on several nodes. */
const keyFor = (world: ClusterWorld, key: AttachmentKey): string =>
  attachableNamed(world, key.volume)?.shared ? attachmentKey(key.unique, key.node) : key.unique;

export const operationOn = (world: ClusterWorld, key: AttachmentKey): VolumeOperation | undefined =>
  world.parts.cluster.memory.operations[keyFor(world, key)];

/** A back-off delays only operations of its own kind. An attach does not wait for a failed detach. */
export const mayStart = (world: ClusterWorld, key: AttachmentKey, kind: VolumeOperation['kind']): boolean => {
  const known = operationOn(world, key);
  return !known || (!known.pending && (known.kind !== kind || world.now() >= known.retryAt));
};

export const startOperation = (world: ClusterWorld, key: AttachmentKey, kind: VolumeOperation['kind']): void => {
  const known = operationOn(world, key);
  const wait = known?.kind === kind ? known.wait : 0;
  const { unique, node, volume } = key;
  const operation: VolumeOperation = {
    kind,
    unique,
    node,
    volume,
    pending: true,
    began: world.now(),
    looksAt: 0,
    pause: look.first,
    retryAt: 0,
    wait,
  };
  world.parts.cluster.memory.operations[keyFor(world, key)] = operation;
  lookLater(world, operation);
  if (kind === 'attach') createAttachment(world, key);
  else deleteAttachment(world, operation);
};

export const attachmentOf = (world: ClusterWorld, key: AttachmentKey): VolumeAttachmentObject | undefined => {
  const volume = attachableNamed(world, key.volume);
  return volume ? getObject(world, 'volumeattachments', attachmentName(volume, key.node)) : undefined;
};

const writer = (world: ClusterWorld) => writerAs(world, 'attachdetach-controller');

const createAttachment = (world: ClusterWorld, { node, volume }: AttachmentKey): void => {
  const attachable = attachableNamed(world, volume);
  if (!attachable) return;
  writer(world).create('volumeattachments', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: attachmentName(attachable, node) },
    spec: { attacher: attachable.driver, nodeName: node, source: { persistentVolumeName: volume } },
    status: { attached: false },
  });
};

/** Without an attachment, the detach is finished. */
const deleteAttachment = (world: ClusterWorld, operation: VolumeOperation): void => {
  const attachment = attachmentOf(world, operation);
  if (attachment) writer(world).remove('volumeattachments', attachment);
  else succeed(world, operation);
};

/** The wait ends at its deadline, even during a pause. */
const lookLater = (world: ClusterWorld, operation: VolumeOperation): void => {
  const pause = Math.round(operation.pause * (1 + look.jitter * world.random()));
  operation.looksAt = Math.min(world.now() + pause, operation.began + TIMEOUT_MS);
  operation.pause = Math.min(operation.pause * look.factor, look.longest);
  world.schedule('attach-detach/look', operation.looksAt - world.now(), keyFor(world, operation));
};

/** Checks once what an operation waits for. The next pass of the reconciler uses the result. */
export const lookAtOperation = (world: ClusterWorld, key: string): void => {
  const operation = world.parts.cluster.memory.operations[key];
  if (!operation?.pending) return;
  if (world.now() < operation.looksAt)
    return world.schedule('attach-detach/look', operation.looksAt - world.now(), key);
  settle(world, operation);
  world.schedule('attach-detach', loop - (world.now() % loop));
};

const settle = (world: ClusterWorld, operation: VolumeOperation): void => {
  const outcome = outcomeOf(world, operation);
  if (outcome === 'pending') return lookLater(world, operation);
  if (outcome === 'done') return succeed(world, operation);
  fail(world, operation, outcome.error);
};

const outcomeOf = (
  world: ClusterWorld,
  operation: VolumeOperation,
): 'pending' | 'done' | { readonly error: string } => {
  const attachment = attachmentOf(world, operation);
  const end = operation.kind === 'attach' ? attachOutcome(attachment) : detachOutcome(attachment);
  const late = world.now() - operation.began >= TIMEOUT_MS;
  return end === 'pending' && late
    ? { error: `timed out waiting for external-attacher to ${operation.kind} volume ${operation.volume}` }
    : end;
};

const attachOutcome = (
  attachment: VolumeAttachmentObject | undefined,
): 'pending' | 'done' | { readonly error: string } => {
  if (!attachment) return 'pending';
  if (attachment.metadata.deletionTimestamp !== undefined) return { error: 'volume attachment is being deleted' };
  if (attachment.status.attached) return 'done';
  return attachment.status.attachError ? { error: attachment.status.attachError.message } : 'pending';
};

const detachOutcome = (
  attachment: VolumeAttachmentObject | undefined,
): 'pending' | 'done' | { readonly error: string } => {
  if (!attachment) return 'done';
  return attachment.status.detachError ? { error: attachment.status.detachError.message } : 'pending';
};

const succeed = (world: ClusterWorld, operation: VolumeOperation): void => {
  const { attached, operations } = world.parts.cluster.memory;
  const { unique, node, volume } = operation;
  const key = attachmentKey(unique, node);
  if (operation.kind === 'detach') delete attached[key];
  else attached[key] = { unique, node, volume, confirmed: true, reported: true, detachRequested: null };
  delete operations[keyFor(world, operation)];
};

/** After a failure, the state of the volume is uncertain, and the volume no longer blocks another node. */
const fail = (world: ClusterWorld, operation: VolumeOperation, error: string): void => {
  const { attached } = world.parts.cluster.memory;
  const { unique, node, volume } = operation;
  const key = attachmentKey(unique, node);
  const known = (attached[key] ??= {
    unique,
    node,
    volume,
    confirmed: false,
    reported: false,
    detachRequested: null,
  });
  known.confirmed = false;
  operation.pending = false;
  operation.wait = Math.min(operation.wait === 0 ? firstWait : operation.wait * 2, longestWait);
  operation.retryAt = world.now() + operation.wait;
  if (operation.kind === 'attach') reportAttachFailed(world, operation, error);
};

/** Returns when a failed operation can begin again. An operation of the other kind can begin in the next loop. */
export const dueAt = (world: ClusterWorld, operation: VolumeOperation): number => {
  if (operation.pending) return Number.POSITIVE_INFINITY;
  return operation.retryAt - operation.wait === world.now() ? world.now() + loop : operation.retryAt;
};
