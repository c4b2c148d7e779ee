import type { Cause, CauseKind, Confidence, WaitEnd } from '../model/cause.ts';
import { type AttachmentView, type DriverFault, type ErrorView, ifFound, type Situation } from '../model/facts.ts';
import { cause, describeSlots, handleOf, firstLine, nameOf, retryCommand, formatDuration } from './rule.ts';

/** The meaning of the clouds' error codes for a pod. Each cloud maps its own codes (`driverFaultOf`). */

interface FaultText {
  readonly kind: CauseKind;
  readonly ending: WaitEnd;
  readonly confidence: Confidence;
  readonly says: (situation: Situation, where: string) => string;
  readonly next: (situation: Situation, where: string) => readonly string[];
}

const faultText = (
  kind: CauseKind,
  says: FaultText['says'],
  next: FaultText['next'],
  more: Partial<Pick<FaultText, 'ending' | 'confidence'>> = {},
): FaultText => ({ kind, says, next, ending: 'by-person', confidence: 'proved', ...more });

const holders = ({ disk }: Situation): string =>
  (ifFound(disk)?.holders ?? []).map(({ machine }) => machine).join(', ') || 'the machine that has it';

const describeState = (state: string | undefined): string => (state ? ` (${state})` : '');

/** The machines that have the disk, without the one on which the pod waits. */
const elsewhere = ({ strangers, disk, target }: Situation): string => {
  const named = [...strangers, ...(ifFound(disk)?.holders ?? [])].map(({ machine }) => machine);
  return (
    [...new Set(named)].filter((machine) => machine !== target?.machine).join(', ') ||
    'a machine that the error may name'
  );
};

/** The text for each error code of a cloud. */
const faults: Readonly<Record<DriverFault, FaultText>> = {
  'attach-limit': faultText(
    'attach-limit',
    (_, node) => `${node} cannot take another volume, although the scheduler expected a free slot.`,
    ({ pod }, node) => [
      `kubectl cordon ${node} && kubectl -n ${pod.namespace} delete pod ${pod.name}      # uncordon it once ` +
        'the pod is placed',
      "for good: tell the driver how many slots the Node's own disks and network interfaces take (EBS: " +
        'reservedVolumeAttachments)',
    ],
  ),
  'attached-elsewhere': faultText(
    'attached-outside',
    (situation) =>
      'The cloud says that the disk is attached to another machine, and nothing in Kubernetes shows why: ' +
      `${elsewhere(situation)}.`,
    (situation) => [
      `find out what ${elsewhere(situation)} is (another cluster, a bastion, a restore), unmount the disk ` +
        'there, and detach it in the cloud',
    ],
    { confidence: 'likely' },
  ),
  'not-permitted': faultText(
    'not-permitted',
    (situation) =>
      `The CSI driver ${handleOf(situation)?.driver ?? ''} may not attach the disk: its own cloud credentials ` +
      'lack a permission.',
    () => [
      "grant it to the role or identity of the driver's controller. Cloudfence's own permissions do not matter here",
    ],
  ),
  throttled: faultText(
    'throttled',
    () => 'The cloud throttles the CSI driver, because it makes too many calls.',
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
    (_, node) =>
      `The cloud does not know the machine of ${node}, or the machine is in a state in which it cannot take a disk.`,
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
    (situation) => [
      `wait for a minute. If it lasts, make sure that nothing on ${holders(situation)} uses the disk and ` +
        'detach it again in the cloud, then bring the machine up to date (Azure: az vm disk detach, az vm update)',
    ],
  ),
  'disk-not-ready': faultText(
    'disk-busy',
    ({ disk }) =>
      'The cloud attaches the disk to no machine now: it is being created, exported, uploaded, copied, or ' +
      `restored, or it has failed${describeState(ifFound(disk)?.state)}.`,
    () => [
      'wait until that ends; the cloud shows the state of the disk',
      'an export keeps the disk until somebody ends it (Azure, ActiveSAS: az disk revoke-access)',
    ],
  ),
  'driver-backs-off': faultText(
    'attacher-backs-off',
    (_, node) => `The CSI driver waits after an earlier error on ${node}, and does not say which error that was.`,
    ({ pod }) => [
      `the earlier error is in the events, for an hour: kubectl -n ${pod.namespace} get events ` +
        `--field-selector involvedObject.uid=${pod.uid}`,
      "or in the log of the driver's controller. Fix what it names: the driver then ends its wait by itself",
    ],
  ),
  incompatible: faultText(
    'incompatible',
    (_, node) => `The machine of ${node} and the type of the disk are not compatible.`,
    () => ['move the pod to a node pool whose machines can take this type of disk'],
  ),
  'lun-taken': faultText(
    'lun-taken',
    (_, node) => `Two disks claim the same LUN on ${node}. A pod may see the data of the other disk.`,
    () => ['stop both pods first, then detach both disks from the machine in the cloud, and start the pods one by one'],
  ),
};

const lookElsewhere = [
  'it may look in another account, subscription, project, or region, or may not see this one: compare the ' +
    "settings and the permissions of the driver's controller",
  "the log of the driver's controller says what it asked for",
];

/** The cloud or the driver asks to wait, so an earlier attempt does not help. */
const WAITING: readonly DriverFault[] = ['throttled', 'driver-backs-off'];

/**
 * Returns whether the driver does not find an object that the cloud has just reported. In that case, nothing was
 * deleted, and no fence is needed.
 */
const contradicted = ({ disk, target }: Situation, fault: DriverFault): FaultText | null => {
  if (fault === 'attached-elsewhere' && ifFound(disk)?.free)
    return faultText(
      'attacher-backs-off',
      () => 'The cloud refused the disk because another machine had it. No machine has it any more.',
      () => [],
      { ending: 'by-itself' },
    );
  if (fault === 'disk-not-found' && ifFound(disk)?.exists)
    return faultText(
      'attach-failed',
      () => 'The CSI driver does not find the disk, although the cloud shows it to these credentials.',
      () => lookElsewhere,
      { confidence: 'likely' },
    );
  if (fault === 'machine-not-found' && ifFound(target?.power ?? null)?.power === 'running')
    return faultText(
      'attach-failed',
      (_, node) => `The CSI driver does not find the machine of ${node}, although the cloud says that it runs.`,
      ({ pod }, node) => [
        ...lookElsewhere,
        `if only ${node} is concerned: kubectl cordon ${node} && kubectl -n ${pod.namespace} delete pod ` +
          `${pod.name}      # its controller makes a new one`,
      ],
      { confidence: 'likely' },
    );
  return null;
};

/** Returns the cause for an error of the driver whose code is known. */
export const causeOfFault = (
  situation: Situation,
  fault: DriverFault,
  error: ErrorView,
  attachment: AttachmentView,
): Cause => {
  const { kind, ending, confidence, says, next } = contradicted(situation, fault) ?? faults[fault];
  return cause(kind, confidence, ending, {
    says: says(situation, attachment.node),
    proof: [
      `attachError ${formatDuration(situation.now - error.at)} ago: ${firstLine(error.says)}`,
      ...describeSlots(situation),
    ],
    waits: `${nameOf(situation.pod)} ← ${attachment.name} ← the cloud.`,
    next: [
      ...next(situation, attachment.node),
      ...(WAITING.includes(fault) ? [] : [`the attacher tries again within five minutes; ${retryCommand(attachment)}`]),
    ],
  });
};
