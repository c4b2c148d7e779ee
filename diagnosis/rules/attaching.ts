import type { Cause } from '../model/cause.ts';
import { ifFound, type AttachmentView, type ErrorView, type NodeLocation, type Situation } from '../model/facts.ts';
import { isAttachable } from './attacher.ts';
import { causeOfFault } from './driver-faults.ts';
import { isNamedByDisk } from './holder.ts';
import { storageTextOf } from './mount-texts.ts';
import {
  attachmentAt,
  cause,
  describeVolume,
  firstLine,
  formatDuration,
  formatTime,
  handleOf,
  hasMultiAttachEvent,
  lastEvent,
  nameOf,
  nodeAt,
  podsAt,
  retryCommand,
  RETRY_MS,
  type CauseRule,
} from './rule.ts';
import { blockersOf, isRefused } from './storage.ts';

/** Causes in the attachments of the volume: stale ones, failed ones, and one that nothing makes. */

const attacherWords = ({ attacher, now }: Situation): string => {
  const renewed = ifFound(attacher)?.renewed;
  return renewed
    ? `its attacher renewed its Lease ${formatDuration(now - renewed)} ago`
    : 'whether its attacher runs is not known';
};

export const diskWords = (situation: Situation, { machine }: NodeLocation): readonly string[] =>
  machine !== null && isNamedByDisk(situation, machine) ? [`the disk names ${machine}, the machine of that Node`] : [];

/** Nobody has requested the detach, because Kubernetes does not do so for an attachment that it did not create. */
const remove = (situation: Situation, { nodeName }: NodeLocation, attachment: AttachmentView): readonly string[] => {
  const target = attachmentAt(situation.target);
  return [
    `if nothing on ${nodeName} uses it: kubectl delete volumeattachment ${attachment.name}`,
    ...(target
      ? [`the attach for ${situation.pod.name} is tried again within five minutes; ${retryCommand(target)}`]
      : []),
  ];
};

const endDetach = (attachment: AttachmentView): readonly string[] => [
  ...(attachment.detachError ? ['fix what the error names: credentials, limits, or the disk itself'] : []),
  `the attacher tries again within five minutes; ${retryCommand(attachment)}`,
  'once the cloud shows the disk detached, remove the finalizer of the VolumeAttachment',
];

const stale = (situation: Situation, location: NodeLocation, attachment: AttachmentView): Cause => {
  const { now, pod } = situation;
  const { detachError: error, deletingSince } = attachment;
  return cause('stale-attachment', 'proved', 'by-person', {
    says:
      `No pod uses ${describeVolume(situation)} on ${location.nodeName}, but its VolumeAttachment ` +
      `${deletingSince === null ? 'still exists' : 'is not deleted'}${error ? `: ${firstLine(error.says)}` : '.'}`,
    proof: [
      ...(deletingSince === null ? [] : [`its deletion was requested ${formatDuration(now - deletingSince)} ago`]),
      ...(error ? [`detachError at ${formatTime(error.at)}`] : []),
      ...(attachment.finalizers.length > 0 ? [`finalizers: ${attachment.finalizers.join(', ')}`] : []),
      ...diskWords(situation, location),
      ...(isOfAnotherDriver(attachment, situation)
        ? [`its attacher is ${attachment.driver}, which is not the driver of the volume`]
        : [attacherWords(situation)]),
    ],
    waits:
      `${nameOf(pod)} ← ${attachment.name} ← ` +
      `${deletingSince === null ? 'a person who deletes it' : `the attacher of ${attachment.driver}`}.`,
    next: deletingSince === null && !error ? remove(situation, location, attachment) : endDetach(attachment),
  });
};

const STALE_MS = 60_000;

/**
 * Returns whether the volume may be mounted on the Node: its kubelet lists it, for any driver, or the list could not be
 * read.
 */
export const mayBeMounted = (location: NodeLocation, situation: Situation): boolean =>
  location.node === 'unread' ||
  (nodeAt(location)?.inUse ?? []).some(({ handle }) => handle === handleOf(situation)?.handle);

/** Returns whether an attacher of another driver made the attachment. */
const isOfAnotherDriver = ({ driver }: AttachmentView, situation: Situation): boolean =>
  driver !== handleOf(situation)?.driver;

/**
 * An attachment to another Node that no pod uses and that is not removed by itself. The answer never advises deleting
 * an attachment whose volume may be mounted.
 */
export const staleAttachment: CauseRule = (situation) => {
  const { now, pod } = situation;
  for (const location of blockersOf(situation)) {
    const attachment = attachmentAt(location);
    if (!attachment || podsAt(location, situation).length > 0) continue;
    const since = attachment.deletingSince ?? pod.created;
    if (attachment.deletingSince === null && mayBeMounted(location, situation)) continue;
    const isNeverAsked = attachment.deletingSince === null && isRefused(situation);
    if (attachment.detachError || isNeverAsked || now - since > STALE_MS) return stale(situation, location, attachment);
  }
  return null;
};

/**
 * The same cause, checked before the cloud's error is used: the error only reflects the stale attachment in Kubernetes.
 */
export const refusedForStale: CauseRule = (situation) => (isRefused(situation) ? staleAttachment(situation) : null);

/**
 * The attachment to the pod's Node says attached, but the disk names no machine. Either it was detached outside
 * Kubernetes, or the machine was deleted and created again under its name.
 */
export const attachedNowhere: CauseRule = (situation) => {
  const { target, disk, pod, now } = situation;
  const attachment = attachmentAt(target);
  const found = ifFound(disk);
  if (!attachment?.attached || attachment.deletingSince !== null || pod.runs || !found?.free) return null;
  if (now - Math.max(attachment.created, pod.created) <= STALE_MS) return null;
  return cause('stale-attachment', 'proved', 'by-person', {
    says:
      `The VolumeAttachment says that ${describeVolume(situation)} is attached to ${attachment.node}, but the ` +
      'disk is attached to no machine: it was detached outside Kubernetes, or the machine was created again ' +
      'under its name.',
    proof: [
      `VolumeAttachment ${attachment.name}: attached, since ${formatTime(attachment.created)}`,
      `the disk itself: ${found.state}, attached to no machine`,
    ],
    waits: `${nameOf(pod)} ← the kubelet of ${attachment.node} ← a disk that is not there.`,
    next: [
      `kubectl delete volumeattachment ${attachment.name}      # nothing is attached, so nothing is lost. ` +
        'Kubernetes attaches the disk again within two minutes',
      'some drivers compare their volumes with the cloud each minute, and correct this themselves',
    ],
  });
};

/** The pod came back to a Node from which the volume is still being detached. */
export const detachFirst: CauseRule = (situation) => {
  const attachment = attachmentAt(situation.target);
  if (!attachment?.deletingSince) return null;
  const error = attachment.detachError;
  return cause('detach-first', 'proved', error ? 'by-person' : 'by-itself', {
    says:
      `The volume has to be detached from ${attachment.node} before it can be attached there ` +
      `again${error ? `, and the detach fails: ${firstLine(error.says)}` : '.'}`,
    proof: [
      `the deletion of VolumeAttachment ${attachment.name} was requested at ${formatTime(attachment.deletingSince)}`,
    ],
    waits: `${nameOf(situation.pod)} ← ${attachment.name} ← the attacher of ${attachment.driver}.`,
    next: [error ? 'fix what the error names' : 'look again in a minute', retryCommand(attachment)],
  });
};

/** The storage system itself has answered, and it is no cloud. */
const refusedByStorage = (situation: Situation, error: ErrorView, attachment: AttachmentView): Cause | null => {
  const known = storageTextOf(error.says);
  return (
    known &&
    cause(known.kind, known.confidence, known.ending, {
      says: known.says,
      proof: [`attachError ${formatDuration(situation.now - error.at)} ago: ${firstLine(error.says)}`],
      waits: `${nameOf(situation.pod)} ← ${attachment.name} ← ${attachment.driver}.`,
      next: [...known.next, `the attacher tries again within five minutes; ${retryCommand(attachment)}`],
    })
  );
};

const failed = (situation: Situation, error: ErrorView, attachment: AttachmentView): Cause => {
  const age = situation.now - error.at;
  const isOld = age > RETRY_MS / 2;
  return cause(isOld ? 'attacher-backs-off' : 'attach-failed', 'likely', isOld ? 'by-itself' : 'by-person', {
    says:
      (isOld
        ? 'The last attempt to attach failed, and the attacher waits before the next one'
        : 'The CSI driver cannot attach the volume') + `: ${firstLine(error.says)}`,
    proof: [`attachError at ${formatTime(error.at)}, ${formatDuration(age)} ago`],
    waits: `${nameOf(situation.pod)} ← ${attachment.name} ← the attacher of ${attachment.driver}.`,
    next: [
      ...(isOld ? [] : ['fix what the error names']),
      `the attacher tries again within five minutes; ${retryCommand(attachment)}`,
    ],
  });
};

/** Returns whether the cloud rejects the disk only because its detach from another Node has not ended. */
const isEchoOfDetach = (situation: Situation): boolean =>
  isRefused(situation) && blockersOf(situation).some((location) => attachmentAt(location)?.deletingSince);

/** The driver returned an error. */
export const attachError: CauseRule = (situation) => {
  const attachment = attachmentAt(situation.target);
  const error = attachment?.attachError;
  if (!attachment || !error || attachment.attached || isEchoOfDetach(situation)) return null;
  if (error.fault) return causeOfFault(situation, error.fault, error, attachment);
  return refusedByStorage(situation, error, attachment) ?? failed(situation, error, attachment);
};

const WEBHOOK = /(admission webhook "[^"]+" denied|failed calling webhook "[^"]+")/;

const whyNotMade = (says: string): readonly string[] => {
  const [, words] = WEBHOOK.exec(says) ?? [];
  if (words === undefined) return ['fix what the error names; Kubernetes tries again within three minutes'];
  return [
    words.startsWith('failed')
      ? 'repair the service of that webhook: it may run on the Node that failed'
      : 'fix what the webhook asks for, or exempt volumeattachments from it',
    'kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations      # its rules and failurePolicy',
  ];
};

const NOT_MADE_MS = 300_000;

/** Kubernetes cannot make the VolumeAttachment, and an event says why. */
export const attachRefused: CauseRule = (situation) => {
  const { target, pod, now } = situation;
  if (!isAttachable(situation) || target?.attachment !== null || pod.runs) return null;
  const event = lastEvent(situation, (reason) => reason === 'FailedAttachVolume');
  if (!event || now - event.at > NOT_MADE_MS || hasMultiAttachEvent({ ...situation, events: [event] })) return null;
  return cause('attach-failed', 'likely', 'by-person', {
    says: `Kubernetes cannot attach ${describeVolume(situation)} to ${target.nodeName}: ${firstLine(event.says)}`,
    proof: [`FailedAttachVolume ${formatDuration(now - event.at)} ago`, 'there is no VolumeAttachment'],
    waits: `${nameOf(pod)} ← attach-detach controller.`,
    next: whyNotMade(event.says),
  });
};

/** The attach-detach controller acts within seconds. */
const ACTS_WITHIN_MS = 120_000;

/** Nothing has the volume, and yet nothing makes a VolumeAttachment for the pod's Node. */
export const controllerSilent: CauseRule = (situation) => {
  const { target, pod, now } = situation;
  if (!isAttachable(situation) || target?.attachment !== null || pod.runs || pod.deletionEnds !== null) return null;
  if (now - pod.created <= ACTS_WITHIN_MS || blockersOf(situation).length > 0 || hasMultiAttachEvent(situation))
    return null;
  return cause('controller-down', 'cannot-tell', 'by-person', {
    says:
      `Nothing holds ${describeVolume(situation)}, but Kubernetes has not created a VolumeAttachment for ` +
      `${target.nodeName}: its attach-detach controller may not run.`,
    proof: [`there is no VolumeAttachment, and the pod was created ${formatDuration(now - pod.created)} ago`],
    waits: `${nameOf(pod)} ← attach-detach controller.`,
    next: [
      'kubectl -n kube-system get lease kube-controller-manager      # check that a leader holds it. On a managed ' +
        'control plane, look at the state of the cluster in the cloud',
    ],
  });
};
