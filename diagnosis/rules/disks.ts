import { type AttachmentView, ifFound, type Situation } from '../model/facts.ts';
import {
  attachmentAt,
  cause,
  holdersOf,
  isKubeletSilent,
  nameOf,
  podsAt,
  retryCommand,
  type CauseRule,
  formatDuration,
  describeVolume,
  RETRY_MS,
} from './rule.ts';

/** What the disk itself says. */

/** Returns who holds the disk although no attachment says so: a machine that is no Node, or a Node. */
const holderOutside = (situation: Situation): { readonly machine: string; readonly is: string } | null => {
  const [stranger] = situation.strangers;
  if (stranger) return { machine: stranger.machine, is: `which is no Node of this cluster (${stranger.power})` };
  const named = new Set((ifFound(situation.disk)?.holders ?? []).map(({ machine }) => machine));
  const location = holdersOf(situation).find(
    (one) => one.attachment === null && named.has(one.machine ?? '') && podsAt(one, situation).length === 0,
  );
  return location?.machine
    ? { machine: location.machine, is: `the machine of ${location.nodeName}, without an attachment` }
    : null;
};

/** Its driver sees that the detach has begun: nobody has to find out what uses the disk. */
const isBeingDetached = (attachment: AttachmentView | null, now: number): boolean =>
  attachment?.attachError?.fault === 'detach-pending' && now - attachment.attachError.at < RETRY_MS;

/** The disk names a machine that Kubernetes does not know as its holder. */
export const attachedOutside: CauseRule = (situation) => {
  const { pod, target, diskId, disk } = situation;
  const holder = holderOutside(situation);
  if (!holder || ifFound(disk)?.shared || target === null) return null;
  const since = ifFound(disk)?.holders.find(({ machine }) => machine === holder.machine)?.since ?? null;
  const attachment = attachmentAt(target);
  if (isBeingDetached(attachment, situation.now)) return null;
  return cause('attached-outside', 'proved', 'by-person', {
    says: `The disk ${diskId ?? ''} is attached to ${holder.machine}, ${holder.is}.`,
    proof: [
      `the disk itself names ${holder.machine}${since === null ? '' : `, attached since ${new Date(since).toISOString()}`}`,
      'no VolumeAttachment names that machine',
    ],
    waits: `${nameOf(pod)} ← disk ← ${holder.machine}, from which Kubernetes detaches nothing.`,
    next: [
      `find out what uses it on ${holder.machine}, unmount the disk there, and detach it in the cloud`,
      ...(attachment ? [`${pod.name} follows within five minutes; ${retryCommand(attachment)}`] : []),
    ],
  });
};

const BUSY_MS = 120_000;

/** A detach or an attach that the cloud began and does not finish. */
export const diskStuck: CauseRule = (situation) => {
  const { disk, now, pod, target } = situation;
  const stuck = ifFound(disk)?.holders.find(({ state }) => ['detaching', 'busy', 'attaching'].includes(state));
  const location = [target, ...holdersOf(situation)].find((one) => one?.machine === stuck?.machine) ?? null;
  const attachment = attachmentAt(location);
  const since = attachment?.deletingSince ?? attachment?.created ?? now;
  if (!stuck || now - since < BUSY_MS) return null;
  const attaching = stuck.state === 'attaching';
  const stopped = location !== null && isKubeletSilent(location, now);
  return cause(attaching ? 'disk-stuck-attaching' : 'disk-busy', 'proved', 'by-person', {
    says: `The cloud has been ${attaching ? 'attaching the disk to' : 'detaching the disk from'} ${stuck.machine} for ${formatDuration(now - since)}${attaching ? '.' : ': its guest still uses it.'}`,
    proof: [`the disk says ${stuck.state}`],
    waits: `${nameOf(pod)} ← disk ← ${stuck.machine}.`,
    next: attaching
      ? ['move the pod to another Node, or reboot this one']
      : [
          'unmount it in the guest, or reboot the machine',
          `force the detach only once the machine is off${stopped ? ' (its kubelet is silent: ask the cloud)' : ''}`,
        ],
  });
};

/** The PersistentVolume is there, and its disk is not. */
export const diskDeleted: CauseRule = (situation) => {
  const { disk, diskId, pod } = situation;
  if (ifFound(disk)?.exists !== false) return null;
  return cause('disk-deleted', 'proved', 'by-person', {
    says: `The cloud does not know the disk ${diskId ?? ''} of ${describeVolume(situation)}.`,
    proof: ['the cloud was asked for it by id'],
    waits: `${nameOf(pod)} ← a disk that does not exist.`,
    next: [
      'check the account, the project, and the region first: the credentials may see another place',
      'if it was deleted: restore a snapshot into a new PersistentVolume',
    ],
  });
};
