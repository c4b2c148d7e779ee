import type { Cause } from '../model/cause.ts';
import { isPoweredOff, powerInWords } from '../../fencing/model/machine.ts';
import { type AttachmentView, ifFound, type NodeLocation, type Situation } from '../model/facts.ts';
import {
  attachmentAt,
  cause,
  describeVolume,
  formatDuration,
  holdersOf,
  isHealthy,
  isKubeletSilent,
  nameOf,
  podsAt,
  retryCommand,
  RETRY_MS,
  type CauseRule,
} from './rule.ts';

/** Causes in the disk itself. */

interface HolderOutside {
  readonly machine: string;
  readonly is: string;
  /** The cloud says that it is off, so nothing there uses the disk. */
  readonly isOff: boolean;
  /** It may be a Node of this cluster, because the Nodes could not be searched. */
  readonly isPerhapsNode: boolean;
}

/** Returns the holder of the disk that no attachment names: a machine that is not a Node, or a Node. */
const holderOutside = (situation: Situation): HolderOutside | null => {
  const [stranger] = situation.strangers;
  if (stranger) {
    const { machine } = stranger;
    const power = powerInWords(stranger.power);
    if (!situation.nodesSearched)
      return { machine, is: `which may be a Node of this cluster (${power})`, isOff: false, isPerhapsNode: true };
    const is = `which is no Node of this cluster (${power})`;
    // A machine that the cloud does not know may be hidden, because the disk names it.
    return { machine, is, isOff: isPoweredOff(stranger), isPerhapsNode: false };
  }
  const named = new Set((ifFound(situation.disk)?.holders ?? []).map(({ machine }) => machine));
  const location = holdersOf(situation).find(
    (one) => one.attachment === null && named.has(one.machine ?? '') && podsAt(one, situation).length === 0,
  );
  return location?.machine
    ? {
        machine: location.machine,
        is: `the machine of ${location.nodeName}, without an attachment`,
        isOff: false,
        isPerhapsNode: false,
      }
    : null;
};

/**
 * Returns whether the driver reports that the detach has begun. In that case, nobody has to find out what uses the
 * disk.
 */
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
  return cause('attached-outside', holder.isPerhapsNode ? 'likely' : 'proved', 'by-person', {
    says: `The disk ${diskId ?? ''} is attached to ${holder.machine}, ${holder.is}.`,
    proof: [
      `the disk itself names ${holder.machine}` +
        (since === null ? '' : `, attached since ${new Date(since).toISOString()}`),
      'no VolumeAttachment names that machine',
    ],
    waits: `${nameOf(pod)} ← disk ← ${holder.machine}, from which Kubernetes detaches nothing.`,
    next: [
      ...(holder.isPerhapsNode
        ? [`run this again with the permission to list Nodes: if ${holder.machine} is one, its pods may use the disk`]
        : []),
      holder.isOff
        ? `detach the disk from ${holder.machine} in the cloud: that machine is off, so nothing there uses it`
        : `find out what uses it on ${holder.machine}, unmount the disk there, and detach it in the cloud`,
      ...(attachment
        ? [`the attach for ${pod.name} is tried again within five minutes; ${retryCommand(attachment)}`]
        : []),
    ],
  });
};

const BUSY_MS = 120_000;

/** A detach or an attach that the cloud began but does not finish. */
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
    says:
      `The cloud has been ${attaching ? 'attaching the disk to' : 'detaching the disk from'} ` +
      `${stuck.machine} for ${formatDuration(now - since)}${attaching ? '.' : ': its guest still uses it.'}`,
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

/** Returns a Node that works although the cloud does not know its machine, because it was asked in a wrong place. */
const unknownYetHealthy = ({ target, holders, now }: Situation): NodeLocation | null =>
  [...(target ? [target] : []), ...holders].find(
    (location) => ifFound(location.power)?.power === 'missing' && isHealthy(location, now),
  ) ?? null;

const askedElsewhere = (situation: Situation, { nodeName, machine }: NodeLocation): Cause =>
  cause('disk-deleted', 'cannot-tell', 'by-person', {
    says:
      `The cloud knows neither the disk of ${describeVolume(situation)} nor the machine of ${nodeName}, although the ` +
      'kubelet there reports. Most likely these credentials see another account, project, or region.',
    proof: [`the cloud does not know ${machine ?? ''}, and ${nodeName} is Ready`],
    waits: `${nameOf(situation.pod)} ← unknown.`,
    next: [
      'run this again with the account, the project, and the region of the cluster',
      'restore nothing before: nothing shows that the disk was deleted',
    ],
  });

/** The PersistentVolume exists, but its disk does not. */
export const diskDeleted: CauseRule = (situation) => {
  const { disk, diskId, pod } = situation;
  if (ifFound(disk)?.exists !== false) return null;
  const healthy = unknownYetHealthy(situation);
  if (healthy) return askedElsewhere(situation, healthy);
  return cause('disk-deleted', 'proved', 'by-person', {
    says: `The cloud does not know the disk ${diskId ?? ''} of ${describeVolume(situation)}.`,
    proof: ['the cloud was asked for the disk by its id'],
    waits: `${nameOf(pod)} ← a disk that does not exist.`,
    next: [
      'check the account, the project, and the region first: the credentials may see another place',
      'if it was deleted: restore a snapshot into a new PersistentVolume',
    ],
  });
};
