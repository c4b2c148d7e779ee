import type { Cause, CauseKind, Confidence, WaitEnd } from '../model/cause.ts';
import type { AttachmentView, DriverFault, ErrorView, Situation } from '../model/facts.ts';
import { cause, describeSlots, handleOf, firstLine, nameOf, retryCommand, formatDuration } from './rule.ts';

/** What the error codes of the clouds mean for a pod. Each cloud reads its own codes (`driverFaultOf`). */

interface FaultText {
  readonly kind: CauseKind;
  readonly ending: WaitEnd;
  readonly confidence: Confidence;
  readonly says: (situation: Situation, place: string) => string;
  readonly next: (situation: Situation, place: string) => readonly string[];
}

const faultText = (
  kind: CauseKind,
  says: FaultText['says'],
  next: FaultText['next'],
  more: Partial<Pick<FaultText, 'ending' | 'confidence'>> = {},
): FaultText => ({ kind, says, next, ending: 'by-person', confidence: 'proved', ...more });

const elsewhere = (situation: Situation): string =>
  situation.strangers.map(({ machine }) => machine).join(', ') || 'a machine that the error may name';

/** What each error code of a cloud means for the pod. */
const faults: Readonly<Record<DriverFault, FaultText>> = {
  'attach-limit': faultText(
    'attach-limit',
    (_, node) => `${node} cannot take another volume, although its driver promised the scheduler more.`,
    ({ pod }, node) => [
      `kubectl cordon ${node} && kubectl -n ${pod.namespace} delete pod ${pod.name}      # uncordon it once the pod is placed`,
      "for good: tell the driver how many slots the Node's own disks and network interfaces take (EBS: reservedVolumeAttachments)",
    ],
  ),
  'attached-elsewhere': faultText(
    'attached-outside',
    (situation) =>
      `The cloud says that the disk is attached to another machine, and Kubernetes knows nothing of that: ${elsewhere(situation)}.`,
    (situation) => [
      `find out what ${elsewhere(situation)} is (another cluster, a bastion, a restore), unmount the disk there, and detach it in the cloud`,
    ],
    { confidence: 'likely' },
  ),
  'not-permitted': faultText(
    'not-permitted',
    (situation) =>
      `The CSI driver ${handleOf(situation)?.driver ?? ''} may not attach the disk: its own cloud credentials lack a permission.`,
    () => [
      "grant it to the role or identity of the driver's controller. Cloudfence's own permissions do not matter here",
    ],
  ),
  throttled: faultText(
    'throttled',
    () => 'The cloud throttles the CSI driver: too many calls at once.',
    () => [
      'wait: the driver tries again within five minutes',
      'if it lasts, look who calls so often, or ask for a higher quota',
    ],
    { ending: 'by-itself' },
  ),
  'disk-not-found': faultText(
    'disk-deleted',
    () => 'The cloud does not know the disk of this volume.',
    () => [
      'check the account, the project, and the region first',
      'if it was deleted: restore a snapshot into a new PersistentVolume',
    ],
  ),
  'machine-not-found': faultText(
    'target-machine-gone',
    (_, node) => `The cloud does not know the machine of ${node}, or it cannot take a disk as it is.`,
    ({ pod }, node) => [`cloudfence fence ${node} --dry-run`, `or: kubectl -n ${pod.namespace} delete pod ${pod.name}`],
  ),
  'wrong-zone': faultText(
    'wrong-zone',
    (_, node) => `The disk is in another zone than ${node}, and disks do not leave their zone.`,
    () => [
      'the PersistentVolume lacks a node affinity, or spec.nodeName was set by hand: let the scheduler place the pod',
      'or restore a snapshot of the disk in the zone of the Node',
    ],
  ),
  'key-unusable': faultText(
    'key-unusable',
    () => 'The key that encrypts the disk cannot be used.',
    () => ["enable the key, or grant its use to the role of the CSI driver's controller"],
  ),
  'detach-pending': faultText(
    'detach-pending',
    () => 'The cloud is still detaching this disk, or its last detach failed.',
    () => [
      'detach the disk from the machine again in the cloud, then bring the machine up to date (Azure: az vm disk detach, az vm update)',
    ],
  ),
  incompatible: faultText(
    'incompatible',
    (_, node) => `The machine of ${node} and the type of the disk do not fit together.`,
    () => ['move the pod to a node pool whose machines can take this type of disk'],
  ),
  'lun-taken': faultText(
    'lun-taken',
    (_, node) => `Two disks claim the same LUN on ${node}. A pod may see the data of the other disk.`,
    () => ['stop both pods first, then detach both disks from the machine in the cloud, and start the pods one by one'],
  ),
};

/** Returns the cause behind an error of the driver whose code is known. */
export const causeOfFault = (
  situation: Situation,
  fault: DriverFault,
  error: ErrorView,
  attachment: AttachmentView,
): Cause => {
  const { kind, ending, confidence, says, next } = faults[fault];
  return cause(kind, confidence, ending, {
    says: says(situation, attachment.node),
    proof: [
      `attachError ${formatDuration(situation.now - error.at)} ago: ${firstLine(error.says)}`,
      ...describeSlots(situation),
    ],
    waits: `${nameOf(situation.pod)} ← ${attachment.name} ← the cloud.`,
    next: [
      ...next(situation, attachment.node),
      `the attacher tries again within five minutes; ${retryCommand(attachment)}`,
    ],
  });
};
