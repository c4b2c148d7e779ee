import type { Cause } from '../model/cause.ts';
import { ifFound, type AttachmentView, type NodeLocation, type Situation } from '../model/facts.ts';
import {
  attachmentAt,
  cause,
  describeKubelet,
  describeVolume,
  formatDuration,
  handleOf,
  holdersOf,
  nameOf,
  nodeAt,
  retryCommand,
  type CauseRule,
  isOffOrMissing,
} from './rule.ts';

/** Causes in the CSI driver of the volume: its node plugin on the pod's Node, and its attacher. */

const driverOf = (situation: Situation): string => handleOf(situation)?.driver ?? '';

export const isAttachable = (situation: Situation): boolean =>
  handleOf(situation) !== null && ifFound(situation.driver)?.attachRequired !== false && situation.target !== null;

/** Neither its CSIDriver object exists, nor does a Node that has the volume list the driver. */
const isUninstalled = (situation: Situation, driver: string): boolean => {
  const known = holdersOf(situation)
    .map((location) => nodeAt(location)?.drivers ?? 'unread')
    .filter((drivers) => drivers !== 'unread');
  const isListed = known.some((drivers) => drivers.some(({ name }) => name === driver));
  return situation.driver === null && known.length > 0 && !isListed;
};

const uninstalled = (situation: Situation, driver: string): Cause =>
  cause('driver-not-on-node', 'proved', 'by-person', {
    says:
      `The CSI driver ${driver} is not installed: nothing detaches ${describeVolume(situation)}, and nothing ` +
      'attaches it.',
    proof: [`there is no CSIDriver ${driver}`, 'no Node that the volume concerns lists the driver'],
    waits: `${nameOf(situation.pod)} ← ${driver}, which is gone.`,
    next: [
      `install ${driver} again, in the same version: it then also ends the detaches that were requested`,
      'do not remove the finalizer of a VolumeAttachment before the cloud shows the disk detached',
    ],
  });

/** The CSI driver is not registered on the pod's Node. */
export const driverNotOnNode: CauseRule = (situation) => {
  const { target, pod } = situation;
  const node = nodeAt(target);
  if (!isAttachable(situation) || node === null || node.drivers === 'unread') return null;
  const driver = driverOf(situation);
  if (node.drivers.some(({ name }) => name === driver)) return null;
  if (isUninstalled(situation, driver)) return uninstalled(situation, driver);
  return cause('driver-not-on-node', 'proved', 'by-person', {
    says:
      `The CSI driver ${driver} is not registered on ${node.name}, so nothing can attach ` +
      `${describeVolume(situation)} there.`,
    proof: [`CSINode ${node.name} lists ${node.drivers.map(({ name }) => name).join(', ') || 'no driver'}`],
    waits: `${nameOf(pod)} ← the node plugin of ${driver} on ${node.name}.`,
    next: [
      `look for the node plugin's pod: kubectl get pods -A -o wide --field-selector spec.nodeName=${node.name}`,
      'the pod may crash, or its DaemonSet may not tolerate a taint of the Node',
    ],
  });
};

/** The leader's Lease lasts 15 s (csi-lib-utils, leaderelection). */
const ATTACHER_SILENT_MS = 15_000;
const PATIENCE_MS = 30_000;

/** Returns the attachment that has been without an answer for the longest time, or null. */
const unansweredOf = (situation: Situation): AttachmentView | null => {
  const { target, now } = situation;
  const all = [target, ...holdersOf(situation)].map(attachmentAt).filter((one) => one !== null);
  const waiting = all.find(
    ({ deletingSince, attached, created }) =>
      (deletingSince !== null || !attached) && now - (deletingSince ?? created) > PATIENCE_MS,
  );
  const isAnswered = all.some(({ attachError, detachError }) => attachError !== null || detachError !== null);
  return isAnswered && situation.attacher === null ? null : (waiting ?? null);
};

const leaderWords = ({ attacher, now }: Situation): string => {
  const view = ifFound(attacher);
  if (view === null) return 'no Lease of its attacher exists';
  const age = view.renewed === null ? 'never' : `${formatDuration(now - view.renewed)} ago`;
  return `its Lease ${view.lease} was renewed ${age} by ${view.holder ?? 'nobody'}`;
};

const isLeading = ({ attacher, now }: Situation): boolean =>
  now - (ifFound(attacher)?.renewed ?? 0) <= ATTACHER_SILENT_MS;

/** The leader of the attacher runs on a Node whose machine is off. A fence of that Node makes it run elsewhere. */
const leaderIsOff = (situation: Situation, attachment: AttachmentView, { machine, nodeName }: NodeLocation): Cause =>
  cause('attacher-down', 'proved', 'by-fence', {
    says:
      `The controller of the CSI driver ${driverOf(situation)} does not answer the VolumeAttachment. Its leader ` +
      `is on ${nodeName}, whose machine is off.`,
    proof: [leaderWords(situation)],
    machine,
    waits: `${nameOf(situation.pod)} ← ${attachment.name} ← external-attacher ← ${nodeName}.`,
    next: [`cloudfence fence ${nodeName}: the controller then starts on another Node`],
  });

/** Calls to a cloud end within seconds, or with an error that the attachment shows. */
const STUCK_MS = 180_000;

/**
 * The attacher holds its Lease but does not act: its worker hangs in the driver, or lacks a permission in the cluster.
 */
export const attacherHangs: CauseRule = (situation) => {
  const { attacher, now, pod } = situation;
  const attachment = unansweredOf(situation);
  if (!isAttachable(situation) || attachment === null || attacher === 'unread' || !isLeading(situation)) return null;
  const lasts = now - (attachment.deletingSince ?? attachment.created);
  const holder = ifFound(attacher)?.holder ?? null;
  if (lasts <= STUCK_MS) return null;
  return cause('attacher-down', 'likely', 'by-person', {
    says:
      `The controller of the CSI driver ${driverOf(situation)} has not answered the VolumeAttachment for ` +
      `${formatDuration(lasts)}, although its attacher runs.`,
    proof: [leaderWords(situation)],
    waits: `${nameOf(pod)} ← ${attachment.name} ← external-attacher.`,
    next: [
      'read the logs of csi-attacher and of the driver in the same ' +
        `pod${holder === null ? '' : ` (${holder})`}: a call that hangs, or a permission that is missing in the ` +
        'cluster',
      `restart the controller if it hangs; ${retryCommand(attachment)}`,
    ],
  });
};

/** The drivers whose controllers AKS and GKE run on their managed control planes. */
const MANAGED = /^(?:disk\.csi\.azure\.com|pd\.csi\.storage\.gke\.io)$/;

/** The attacher does not react: no attacher runs, or its leader is on a dead Node. */
export const attacherDown: CauseRule = (situation) => {
  const { attacher, attacherLocation, now, pod } = situation;
  const attachment = unansweredOf(situation);
  if (!isAttachable(situation) || attachment === null || attacher === 'unread' || isLeading(situation)) return null;
  if (attacherLocation && isOffOrMissing(ifFound(attacherLocation.power)))
    return leaderIsOff(situation, attachment, attacherLocation);
  return cause('attacher-down', attacher === null ? 'likely' : 'proved', 'by-person', {
    says: `The controller of the CSI driver ${driverOf(situation)} does not answer the VolumeAttachment.`,
    proof: [leaderWords(situation), ...(attacherLocation ? [describeKubelet(attacherLocation, now)] : [])],
    waits:
      `${nameOf(pod)} ← ${attachment.name} ← external-attacher` +
      `${attacherLocation ? ` ← ${attacherLocation.nodeName}` : ''}.`,
    next: [
      MANAGED.test(driverOf(situation))
        ? 'AKS and GKE run this controller outside the cluster: look at the state of the cluster in the cloud, and ' +
          'ask the support of the cloud. Elsewhere: kubectl get pods -A -o wide | grep -i csi'
        : 'find the controller, and find out why it does not run: kubectl get pods -A -o wide | grep -i csi',
      'if the machine of its Node is off: cloudfence fence <node>',
    ],
  });
};
