import type { Cause } from '../model/cause.ts';
import { ifFound, type EventView, type Situation } from '../model/facts.ts';
import { isEcho, isMountEvent, mountTextOf, type MountText } from './mount-texts.ts';
import { hasOtherObject } from './pod.ts';
import {
  attachmentAt,
  cause,
  describeVolume,
  failedVolumeIn,
  firstLine,
  formatDuration,
  formatTime,
  handleOf,
  isListedAttached,
  lastEvent,
  nameOf,
  nodeAt,
  type CauseRule,
} from './rule.ts';
import { cephNote, isCeph, isNetworkStorage } from './storage.ts';

/**
 * Causes in the mount: the volume is attached, or needs no attach, but the kubelet of the pod's Node does not finish
 * the mount.
 */

/** Returns whether the volume needs no attachment: its driver attaches nothing, or no CSI driver serves it. */
export const needsNoAttachment = ({ volume, driver }: Situation): boolean =>
  ifFound(driver)?.attachRequired === false || ifFound(volume)?.handle === null;

const isAttached = (situation: Situation): boolean =>
  attachmentAt(situation.target)?.attached === true || needsNoAttachment(situation);

const notes = (situation: Situation, { kind, next }: MountText): readonly string[] =>
  kind === 'rbd-watcher' || (kind === 'storage-not-ready' && isCeph(situation))
    ? [...next, ...cephNote(situation)]
    : next;

const ofText = (situation: Situation, found: MountText, event: EventView): Cause =>
  cause(found.kind, found.confidence, found.ending, {
    says: found.says,
    proof: [`${event.reason} ${formatDuration(situation.now - event.at)} ago: ${firstLine(event.says)}`],
    waits: `${nameOf(situation.pod)} ← the kubelet of ${situation.target?.nodeName ?? ''}.`,
    next: notes(situation, found),
  });

/** Whether the event is about this volume: the kubelet names a PersistentVolume, or several volumes of the pod. */
const isAboutVolume = ({ volume, pod }: Situation, says: string): boolean => {
  const [named, own] = [failedVolumeIn(says), ifFound(volume)?.name];
  if (named === null || own === undefined || named === own) return true;
  return pod.claims.length < 2 && !pod.ownVolumes.includes(named);
};

/** An event of the kubelet shows why the mount fails. */
export const mountError: CauseRule = (situation) => {
  const { target, pod, now } = situation;
  if (target === null || pod.runs) return null;
  const event = lastEvent(
    situation,
    (reason, says) => isMountEvent(reason) && !isEcho(says) && !hasOtherObject(says) && isAboutVolume(situation, says),
  );
  if (event === null) return null;
  const found = mountTextOf(event, isNetworkStorage(situation));
  if (found) return ofText(situation, found, event);
  if (!isAttached(situation)) return null;
  return cause('mount-failed', 'likely', 'by-person', {
    says: `The kubelet of ${target.nodeName} cannot mount ${describeVolume(situation)}: ${firstLine(event.says)}`,
    proof: [`${event.reason} ${formatDuration(now - event.at)} ago`],
    waits: `${nameOf(pod)} ← the kubelet of ${target.nodeName}.`,
    next: [`read the log of the node plugin of ${handleOf(situation)?.driver ?? 'the driver'} on ${target.nodeName}`],
  });
};

/** Returns whether the event says why a mount fails. */
const isTelling = ({ reason, says }: EventView): boolean => isMountEvent(reason) && !isEcho(says);

/** A kubelet that has done nothing for this long is stuck. */
const SILENT_MS = 120_000;

/** The volume was attached recently, and the kubelet is mounting it. */
export const mountingNow: CauseRule = (situation) => {
  const { target, pod, now, events } = situation;
  if (target === null || !isAttached(situation) || pod.runs || pod.deletionEnds !== null) return null;
  const since = Math.max(attachmentAt(target)?.created ?? 0, pod.created);
  if (now - since >= SILENT_MS || events.some(isTelling)) return null;
  const where = needsNoAttachment(situation) ? 'needs no attachment' : `is attached to ${target.nodeName}`;
  return cause('moving-now', 'likely', 'by-itself', {
    says:
      `${describeVolume(situation)} ${where}, and the kubelet of ${target.nodeName} mounts it and starts the pod. ` +
      'This takes a few seconds.',
    proof: [`it ${where}, and nothing has failed so far`],
    waits: `${nameOf(pod)} ← the kubelet of ${target.nodeName}.`,
    next: [`look again after ${formatTime(since + SILENT_MS)}`],
  });
};

/** The volume is attached, but no event says why it is not mounted. */
export const kubeletStuck: CauseRule = (situation) => {
  const { target, pod, now, events } = situation;
  const attachment = attachmentAt(target);
  if (target === null || !attachment?.attached || pod.runs || pod.deletionEnds !== null) return null;
  const since = Math.max(attachment.created, pod.created);
  if (now - since < SILENT_MS || events.some(isTelling)) return null;
  const listed = isListedAttached(target, situation);
  const node = nodeAt(target);
  return cause('kubelet-stuck', 'cannot-tell', 'by-person', {
    says: listed
      ? `${describeVolume(situation)} has been attached to ${target.nodeName} since ${formatTime(since)}, but ` +
        'the kubelet there does not mount it. Only the Node itself shows the reason.'
      : `${describeVolume(situation)} is attached to ${target.nodeName}, but the Node's status does not list it: ` +
        'the attach-detach controller has not updated it yet.',
    proof: [
      ...(node ? [`volumesAttached of ${node.name} ${listed ? 'lists' : 'does not list'} the volume`] : []),
      ...(pod.changesOwnership
        ? ['the pod sets fsGroup without fsGroupChangePolicy: with many files, this alone takes a long time']
        : []),
    ],
    waits: `${nameOf(pod)} ← ${listed ? `the kubelet of ${target.nodeName}` : 'attach-detach controller'}.`,
    next: [
      listed
        ? `restart the kubelet of ${target.nodeName}`
        : 'check that the controller-manager runs, and that one of its pods is the leader',
    ],
  });
};

/** No attachment is needed, and the kubelet does not say why it does not mount. A server that is silent does that. */
export const mountHangs: CauseRule = (situation) => {
  const { target, pod, now, events } = situation;
  if (target === null || !needsNoAttachment(situation) || pod.runs || pod.deletionEnds !== null) return null;
  if (now - pod.created < SILENT_MS || events.some(isTelling)) return null;
  const onNetwork = isNetworkStorage(situation);
  return cause(onNetwork ? 'network-storage' : 'kubelet-stuck', onNetwork ? 'likely' : 'cannot-tell', 'by-person', {
    says:
      `The kubelet of ${target.nodeName} has not mounted ${describeVolume(situation)}, and does not say ` +
      `why${onNetwork ? ': most likely its server does not answer, and the mount hangs.' : '.'}`,
    proof: [`the pod was created ${formatDuration(now - pod.created)} ago, and no event names an error`],
    waits: `${nameOf(pod)} ← the kubelet of ${target.nodeName}${onNetwork ? ' ← the server of the volume' : ''}.`,
    next: onNetwork
      ? [
          `check the server, and the network and the firewall between it and ${target.nodeName}`,
          'do not restart the kubelet first: a restart does not end a mount that hangs',
        ]
      : [`read the log of the kubelet of ${target.nodeName}`],
  });
};
