import { createHash } from 'node:crypto';
import type { PodObject } from '../objects.ts';
import { writerAs } from './object-writer.ts';
import type { DesiredVolume } from './desired-state.ts';
import { desiredVolumes, attachmentKey } from './desired-state.ts';
import type { AttachedVolume, VolumeOperation } from './memory.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { microTime } from './times.ts';

type Desired = ReadonlyMap<string, DesiredVolume>;

/** Reported once for each volume and node (`MultiAttachErrorReported`). */
export const reportMultiAttach = (
  world: ClusterWorld,
  wanted: DesiredVolume,
  holders: readonly AttachedVolume[],
  desired: Desired,
): void => {
  const { multiAttachTold } = world.parts.cluster.memory;
  const key = attachmentKey(wanted.volume.unique, wanted.node);
  if (multiAttachTold[key]) return;
  multiAttachTold[key] = true;
  const others = holders.flatMap((holder) => desired.get(attachmentKey(holder.unique, holder.node))?.pods ?? []);
  for (const pod of wanted.pods)
    recordEvent(world, pod, `Multi-Attach error for volume "${wanted.volume.volume}" ${whyNot(pod, others)}`);
};

/** A pod's event names only pods of its own namespace. */
const whyNot = (pod: PodObject, others: readonly PodObject[]): string => {
  if (others.length === 0) return "Volume is already exclusively attached to one node and can't be attached to another";
  const near = others
    .filter((other) => other.metadata.namespace === pod.metadata.namespace)
    .map((other) => other.metadata.name);
  const far = others.length - near.length;
  if (near.length === 0) return `Volume is already used by ${far} pod(s) in different namespaces`;
  return (
    `Volume is already used by pod(s) ${near.join(', ')}` +
    (far > 0 ? ` and ${far} pod(s) in different namespaces` : '')
  );
};

export const reportAttachFailed = (world: ClusterWorld, operation: VolumeOperation, error: string): void => {
  const pods = desiredVolumes(world).get(attachmentKey(operation.unique, operation.node))?.pods ?? [];
  for (const pod of pods)
    recordEvent(world, pod, `AttachVolume.Attach failed for volume "${operation.volume}" : ${error}`);
};

/** The name depends on the content, so that a repetition does not create a second Event. */
const recordEvent = (world: ClusterWorld, pod: PodObject, note: string): void => {
  const { name, namespace = 'default', uid } = pod.metadata;
  const digest = createHash('sha256').update(`${uid} ${note}`).digest('hex').slice(0, 16);
  writerAs(world, 'attachdetach-controller').create('events', {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `${name}.${digest}`, namespace },
    eventTime: microTime(world.now()),
    reportingController: 'attachdetach-controller',
    reportingInstance: 'attachdetach-controller',
    action: 'Attach',
    reason: 'FailedAttachVolume',
    type: 'Warning',
    note,
    regarding: { kind: 'Pod', name, namespace, uid },
  });
};
