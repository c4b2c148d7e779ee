import type { Cause } from '../model/cause.ts';
import type { AttachmentView, NodeLocation, Situation, TwinVolume } from '../model/facts.ts';
import { diskWords, mayBeMounted } from './attaching.ts';
import { isEcho, isMountEvent } from './mount-texts.ts';
import { attachmentAt, cause, describeVolume, firstLine, nameOf, type CauseRule } from './rule.ts';
import { blockersOf } from './storage.ts';

/** Two PersistentVolumes that name the same disk. A pod of one keeps the disk from the pods of the other. */

/** The pods of the other PersistentVolume name another claim, so they are not among the pods of this claim. */
const isTwinAt = (location: NodeLocation, { twin }: Situation): boolean =>
  twin !== null && attachmentAt(location)?.volumeName === twin.name;

const claimOf = (volume: string): string =>
  `kubectl get pv ${volume} -o jsonpath='{.spec.claimRef.namespace}/{.spec.claimRef.name}'      # the claim ` +
  'whose pods use it';

/** The other PersistentVolume has the disk on another Node. */
export const twinVolume: CauseRule = (situation) => {
  const { pod, target, diskId } = situation;
  const twin = situation.twin?.name ?? '';
  const location = blockersOf(situation).find((one) => isTwinAt(one, situation));
  if (!location || target === null) return null;
  return cause('shared-claim', 'proved', 'by-person', {
    says:
      `Two PersistentVolumes name the disk ${diskId ?? ''}: ${describeVolume(situation)}, and ${twin}, for which ` +
      `it is attached to ${location.nodeName}. Another pod may write to it there.`,
    proof: [`VolumeAttachment ${attachmentAt(location)?.name ?? ''} is of ${twin}`],
    waits: `${nameOf(pod)} ← disk ← ${twin} ← whatever uses it on ${location.nodeName}.`,
    next: [
      claimOf(twin),
      'decide which of the two may have the disk, and give the other one a disk of its own',
      `do not fence or reboot ${location.nodeName}, and do not delete the attachment`,
    ],
  });
};

const twinProof = (situation: Situation, target: NodeLocation, twin: TwinVolume): string => {
  if (twin.isInPod) return `both are volumes of ${nameOf(situation.pod)}`;
  return isTwinAt(target, situation)
    ? `VolumeAttachment ${attachmentAt(target)?.name ?? ''} is of ${twin.name}`
    : `a pod on ${target.nodeName} uses ${twin.name}`;
};

/** A mount takes some seconds. */
const MOUNTS_WITHIN_MS = 120_000;

/**
 * Both PersistentVolumes are wanted on one Node. A kubelet knows a volume by its handle, mounts it for one of them, and
 * says nothing about the other.
 */
export const twinOnNode: CauseRule = (situation) => {
  const { pod, target, twin, now, events } = situation;
  if (target === null || !twin?.read || pod.runs || pod.deletionEnds !== null) return null;
  if (!twin.isOnNode) return null;
  if (now - pod.created <= MOUNTS_WITHIN_MS) return null;
  if (events.some(({ reason, says }) => isMountEvent(reason) && !isEcho(says))) return null;
  return cause('shared-claim', 'likely', 'by-person', {
    says:
      `Two PersistentVolumes name the same volume: ${describeVolume(situation)} and ${twin.name}, and both are ` +
      `wanted on ${target.nodeName}. A kubelet mounts it for one of them, and says nothing about the other.`,
    proof: [twinProof(situation, target, twin)],
    waits: `${nameOf(pod)} ← the kubelet of ${target.nodeName} ← ${twin.name}.`,
    next: [
      ...(twin.isInPod ? [] : [claimOf(twin.name)]),
      twin.isInPod
        ? 'name one claim in the pod, and mount it twice (subPath). For a file share, each PersistentVolume needs a ' +
          'volumeHandle of its own'
        : 'let both workloads name one claim, if they may share the data, or give one of them a disk of its own',
      'a restart of the kubelet does not help',
    ],
  });
};

/** Only a PersistentVolume tells an attacher which disk to detach. */
const withoutVolume = (
  situation: Situation,
  location: NodeLocation,
  attachment: AttachmentView,
  volume: string,
): Cause =>
  cause('stale-attachment', 'proved', 'by-person', {
    says:
      `The disk is attached to ${location.nodeName} for the PersistentVolume ${volume}, which no longer exists. The ` +
      'attacher needs it to detach the disk, so the attachment never goes by itself.',
    proof: [
      `VolumeAttachment ${attachment.name} is of ${volume}`,
      ...(attachment.detachError ? [`detachError: ${firstLine(attachment.detachError.says)}`] : []),
      ...diskWords(situation, location),
    ],
    waits: `${nameOf(situation.pod)} ← disk ← ${attachment.name} ← a PersistentVolume that does not exist.`,
    next: [
      mayBeMounted(location, situation)
        ? `the kubelet of ${location.nodeName} lists it as mounted: end what uses it there, or drain and reboot ` +
          'the Node'
        : `make sure that nothing on ${location.nodeName} uses the disk`,
      `then create ${volume} again, with the same driver and handle and the reclaim policy Retain: the attacher ` +
        'detaches the disk by itself',
      'or detach it in the cloud, and then remove the finalizer of the VolumeAttachment',
    ],
  });

/** The disk is attached for a PersistentVolume that somebody has deleted. */
export const attachedForDeleted: CauseRule = (situation) => {
  const { twin } = situation;
  if (twin?.read !== null) return null;
  for (const location of blockersOf(situation)) {
    const attachment = attachmentAt(location);
    if (attachment?.volumeName === twin.name) return withoutVolume(situation, location, attachment, twin.name);
  }
  return null;
};
