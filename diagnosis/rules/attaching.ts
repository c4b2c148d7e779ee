import type { Cause } from '../model/cause.ts';
import { known, type AttachmentView, type ErrorView, type Place, type Situation } from '../model/facts.ts';
import {
  attachmentAt,
  cause,
  clock,
  handleOf,
  holdersOf,
  line,
  nameOf,
  nodeAt,
  podsAt,
  retrySoon,
  type Rule,
  span,
  volumeName,
} from './rule.ts';
import { causeOfFault } from './driver-faults.ts';

/** The attachment to the pod's Node, the driver and its attacher, and the errors of the cloud. */

const driverOf = (situation: Situation): string => handleOf(situation)?.driver ?? '';

const isAttachable = (situation: Situation): boolean =>
  handleOf(situation) !== null && known(situation.driver)?.attachRequired !== false && situation.target !== null;

/** The CSI driver is not registered on the pod's Node. */
export const driverNotOnNode: Rule = (situation) => {
  const { target, pod } = situation;
  const node = nodeAt(target);
  if (!isAttachable(situation) || node === null || node.drivers === 'unread') return null;
  const driver = driverOf(situation);
  if (node.drivers.some(({ name }) => name === driver)) return null;
  return cause('driver-not-on-node', 'proved', 'by-person', {
    says: `The CSI driver ${driver} is not registered on ${node.name}, so nothing can attach ${volumeName(situation)} there.`,
    proof: [`CSINode ${node.name} lists ${node.drivers.map(({ name }) => name).join(', ') || 'no driver'}`],
    waits: `${nameOf(pod)} ← the node plugin of ${driver} on ${node.name}.`,
    next: [
      `look for the node plugin's pod: kubectl get pods -A -o wide --field-selector spec.nodeName=${node.name}`,
      'it may crash, or its DaemonSet may not tolerate a taint of the Node',
    ],
  });
};

const ATTACHER_SILENT_MS = 15_000;
const PATIENCE_MS = 30_000;

/** Nothing answers the attachment: no attacher runs, or its leader sits on a dead Node. */
export const attacherDown: Rule = (situation) => {
  const { target, attacher, now, pod } = situation;
  const attachment = attachmentAt(target) ?? attachmentAt(holdersOf(situation)[0] ?? null);
  if (!isAttachable(situation) || attachment === null || attacher === 'unread') return null;
  const isAnswered = attachment.attachError !== null || attachment.detachError !== null;
  const since = attachment.deletingSince ?? attachment.created;
  const settled = attachment.deletingSince === null && attachment.attached;
  if (isAnswered || settled || now - since < PATIENCE_MS) return null;
  const silent = attacher === null || attacher.renewed === null || now - attacher.renewed > ATTACHER_SILENT_MS;
  if (!silent) return null;
  const driver = driverOf(situation);
  const state =
    attacher === null
      ? 'no Lease of its attacher exists'
      : `its Lease ${attacher.lease} was renewed ${attacher.renewed === null ? 'never' : `${span(now - attacher.renewed)} ago`} by ${attacher.holder ?? 'nobody'}`;
  return cause('attacher-down', attacher === null ? 'likely' : 'proved', 'by-person', {
    says: `Nothing works for the CSI driver ${driver}: its controller does not answer the VolumeAttachment.`,
    proof: [state, `VolumeAttachment ${attachment.name} has waited for ${span(now - since)} without an error`],
    waits: `${nameOf(pod)} ← external-attacher of ${driver}.`,
    next: [
      `find the controller: kubectl get pods -A -o wide | grep -i csi`,
      `if it sits on a dead Node, fence that Node first (cloudfence fence <node>), or force-delete that pod once the machine is off`,
    ],
  });
};

const RETRY_MS = 300_000;

const stale = (situation: Situation, place: Place, attachment: AttachmentView): Cause => {
  const { now, pod, attacher } = situation;
  const error = attachment.detachError;
  const alive = known(attacher);
  return cause('stale-attachment', 'proved', 'by-person', {
    says: `No pod uses ${volumeName(situation)} on ${place.nodeName}, but its VolumeAttachment ${attachment.deletingSince === null ? 'is still there' : 'does not go'}${error ? `: ${line(error.says)}` : '.'}`,
    proof: [
      ...(attachment.deletingSince === null
        ? []
        : [`its deletion was requested ${span(now - attachment.deletingSince)} ago`]),
      ...(error ? [`detachError at ${clock(error.at)}`] : []),
      ...(attachment.finalizers.length > 0 ? [`finalizers: ${attachment.finalizers.join(', ')}`] : []),
      alive?.renewed
        ? `its attacher renewed its Lease ${span(now - alive.renewed)} ago`
        : 'whether its attacher runs is not known',
    ],
    waits: `${nameOf(pod)} ← ${attachment.name} ← the attacher of ${attachment.driver}.`,
    next: [
      ...(error ? ['mend what the error names: credentials, limits, or the disk itself'] : []),
      `the attacher tries again within five minutes; ${retrySoon(attachment)}`,
      attachment.deletingSince === null
        ? `if nothing on ${place.nodeName} uses it: kubectl delete volumeattachment ${attachment.name}`
        : 'once the cloud shows the disk detached, remove the finalizer of the VolumeAttachment',
    ],
  });
};

const STALE_MS = 60_000;

/** An attachment elsewhere that no pod uses and that does not go by itself. */
export const staleAttachment: Rule = (situation) => {
  const { now, pod } = situation;
  for (const place of holdersOf(situation)) {
    const attachment = attachmentAt(place);
    if (!attachment || podsAt(place, situation).length > 0) continue;
    const since = attachment.deletingSince ?? pod.created;
    if (attachment.detachError || now - since > STALE_MS) return stale(situation, place, attachment);
  }
  return null;
};

/** The pod came back to the Node from which the volume is still being detached. */
export const detachFirst: Rule = (situation) => {
  const attachment = attachmentAt(situation.target);
  if (!attachment?.deletingSince) return null;
  const error = attachment.detachError;
  return cause('detach-first', 'proved', error ? 'by-person' : 'by-itself', {
    says: `The volume has to be detached from ${attachment.node} before it can be attached there again${error ? `, and the detach fails: ${line(error.says)}` : '.'}`,
    proof: [`VolumeAttachment ${attachment.name} is being deleted since ${clock(attachment.deletingSince)}`],
    waits: `${nameOf(situation.pod)} ← ${attachment.name} ← the attacher of ${attachment.driver}.`,
    next: [error ? 'mend what the error names' : 'look again in a minute', retrySoon(attachment)],
  });
};

const failed = (situation: Situation, error: ErrorView, attachment: AttachmentView): Cause => {
  const age = situation.now - error.at;
  const isOld = age > RETRY_MS / 2;
  return cause(isOld ? 'attacher-backs-off' : 'attach-failed', 'likely', isOld ? 'by-itself' : 'by-person', {
    says: `${isOld ? 'The last attempt to attach failed, and the attacher waits before the next one' : 'The CSI driver cannot attach the volume'}: ${line(error.says)}`,
    proof: [`attachError at ${clock(error.at)}, ${span(age)} ago`],
    waits: `${nameOf(situation.pod)} ← ${attachment.name} ← the attacher of ${attachment.driver}.`,
    next: [`it tries again within five minutes; ${retrySoon(attachment)}`],
  });
};

/** The driver answered with an error. */
export const attachError: Rule = (situation) => {
  const attachment = attachmentAt(situation.target);
  const error = attachment?.attachError;
  if (!attachment || !error || attachment.attached) return null;
  return error.fault ? causeOfFault(situation, error.fault, error, attachment) : failed(situation, error, attachment);
};
