import type { Cause } from '../model/cause.ts';
import { ifFound, type AttachmentView, type ErrorView, type NodeLocation, type Situation } from '../model/facts.ts';
import {
  attachmentAt,
  cause,
  formatTime,
  handleOf,
  holdersOf,
  describeKubelet,
  firstLine,
  nameOf,
  nodeAt,
  podsAt,
  retryCommand,
  type CauseRule,
  formatDuration,
  describeVolume,
  isInUse,
  RETRY_MS,
} from './rule.ts';
import { causeOfFault } from './driver-faults.ts';

/** Causes in the attachment to the pod's Node, the driver and its attacher, and the errors of the cloud. */

const driverOf = (situation: Situation): string => handleOf(situation)?.driver ?? '';

const isAttachable = (situation: Situation): boolean =>
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
      'it may crash, or its DaemonSet may not tolerate a taint of the Node',
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

const OFF = ['off', 'off-if-repeated', 'missing'];

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

/** The attacher does not react: no attacher runs, or its leader is on a dead Node. */
export const attacherDown: CauseRule = (situation) => {
  const { attacher, attacherLocation, now, pod } = situation;
  const attachment = unansweredOf(situation);
  if (!isAttachable(situation) || attachment === null || attacher === 'unread' || isLeading(situation)) return null;
  if (attacherLocation && OFF.includes(ifFound(attacherLocation.power)?.power ?? ''))
    return leaderIsOff(situation, attachment, attacherLocation);
  return cause('attacher-down', attacher === null ? 'likely' : 'proved', 'by-person', {
    says: `The controller of the CSI driver ${driverOf(situation)} does not answer the VolumeAttachment.`,
    proof: [leaderWords(situation), ...(attacherLocation ? [describeKubelet(attacherLocation, now)] : [])],
    waits:
      `${nameOf(pod)} ← ${attachment.name} ← external-attacher` +
      `${attacherLocation ? ` ← ${attacherLocation.nodeName}` : ''}.`,
    next: [
      'find the controller, and why it does not run: kubectl get pods -A -o wide | grep -i csi',
      'if the machine of its Node is off: cloudfence fence <node>',
    ],
  });
};

const attacherWords = ({ attacher, now }: Situation): string => {
  const renewed = ifFound(attacher)?.renewed;
  return renewed
    ? `its attacher renewed its Lease ${formatDuration(now - renewed)} ago`
    : 'whether its attacher runs is not known';
};

const diskWords = ({ disk }: Situation, { machine }: NodeLocation): readonly string[] =>
  machine !== null && ifFound(disk)?.holders.some((holder) => holder.machine === machine)
    ? [`the disk names ${machine}, the machine of that Node`]
    : [];

/** Nobody has requested the detach, because Kubernetes does not do so for an attachment that it did not create. */
const remove = (situation: Situation, { nodeName }: NodeLocation, attachment: AttachmentView): readonly string[] => {
  const target = attachmentAt(situation.target);
  return [
    `if nothing on ${nodeName} uses it: kubectl delete volumeattachment ${attachment.name}`,
    ...(target ? [`${situation.pod.name} follows within five minutes; ${retryCommand(target)}`] : []),
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
      `${deletingSince === null ? 'is still there' : 'does not go'}${error ? `: ${firstLine(error.says)}` : '.'}`,
    proof: [
      ...(deletingSince === null ? [] : [`its deletion was requested ${formatDuration(now - deletingSince)} ago`]),
      ...(error ? [`detachError at ${formatTime(error.at)}`] : []),
      ...(attachment.finalizers.length > 0 ? [`finalizers: ${attachment.finalizers.join(', ')}`] : []),
      ...diskWords(situation, location),
      attacherWords(situation),
    ],
    waits:
      `${nameOf(pod)} ← ${attachment.name} ← ` +
      `${deletingSince === null ? 'somebody who deletes it' : `the attacher of ${attachment.driver}`}.`,
    next: deletingSince === null && !error ? remove(situation, location, attachment) : endDetach(attachment),
  });
};

const STALE_MS = 60_000;

/** Returns whether the cloud rejects the attach because another machine has the disk. */
const isRefused = ({ target }: Situation): boolean => attachmentAt(target)?.attachError?.fault === 'attached-elsewhere';

/** Returns whether the volume may be mounted on the Node: its kubelet lists it, or the list could not be read. */
const mayBeMounted = (location: NodeLocation, situation: Situation): boolean =>
  location.node === 'unread' || isInUse(location, situation);

/**
 * An attachment to another Node that no pod uses and that is not removed by itself. The answer never advises deleting
 * an attachment whose volume may be mounted.
 */
export const staleAttachment: CauseRule = (situation) => {
  const { now, pod } = situation;
  for (const location of holdersOf(situation)) {
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
      'some drivers compare their volumes with the cloud each minute, and notice it by themselves',
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
    proof: [`VolumeAttachment ${attachment.name} is being deleted since ${formatTime(attachment.deletingSince)}`],
    waits: `${nameOf(situation.pod)} ← ${attachment.name} ← the attacher of ${attachment.driver}.`,
    next: [error ? 'fix what the error names' : 'look again in a minute', retryCommand(attachment)],
  });
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
  isRefused(situation) && holdersOf(situation).some((location) => attachmentAt(location)?.deletingSince);

/** The driver returned an error. */
export const attachError: CauseRule = (situation) => {
  const attachment = attachmentAt(situation.target);
  const error = attachment?.attachError;
  if (!attachment || !error || attachment.attached || isEchoOfDetach(situation)) return null;
  return error.fault ? causeOfFault(situation, error.fault, error, attachment) : failed(situation, error, attachment);
};
