import type { Cause, CauseKind, Confidence, WaitEnd } from '../model/cause.ts';
import { ifFound, type EventView, type Situation } from '../model/facts.ts';
import {
  attachmentAt,
  cause,
  formatTime,
  handleOf,
  isListedAttached,
  lastEvent,
  failedVolumeIn,
  firstLine,
  nameOf,
  nodeAt,
  type CauseRule,
  formatDuration,
  describeVolume,
  cephNote,
  isCeph,
} from './rule.ts';

/**
 * Causes in the mount: the volume is attached, or needs no attach, but the kubelet of the pod's Node does not finish
 * the mount.
 */

const isAttached = (situation: Situation): boolean =>
  attachmentAt(situation.target)?.attached === true || ifFound(situation.driver)?.attachRequired === false;

interface MountText {
  readonly sign: RegExp;
  readonly kind: CauseKind;
  readonly confidence: Confidence;
  readonly ending: WaitEnd;
  readonly says: string;
  readonly next: readonly string[];
}

const text = (
  sign: RegExp,
  kind: CauseKind,
  says: string,
  next: readonly string[],
  more: Partial<Pick<MountText, 'confidence' | 'ending'>> = {},
): MountText => ({ sign, kind, says, next, confidence: 'proved', ending: 'by-person', ...more });

/** Messages of the kubelet and the drivers. The first sign that appears in an event is used. */
const texts: readonly MountText[] = [
  text(
    /not found in the list of registered CSI drivers/,
    'driver-not-in-kubelet',
    'The kubelet of the Node does not know the CSI driver.',
    ["restart the driver's node-plugin pod on the Node"],
  ),
  text(
    /rbd image .* is still being used|rbd: map failed.*busy/,
    'rbd-watcher',
    'Another Ceph client watches the image.',
    [],
  ),
  text(
    /is not ready for workloads|already attached to the node|engine image|Replicas yet to connect|iscsiadm|is not online/,
    'storage-not-ready',
    'The storage system itself is not ready to serve the volume.',
    [
      'look at its own objects (Longhorn: volumes.longhorn.io, OpenEBS: the target pod): its parts on the dead ' +
        'Node must run again first',
    ],
    { confidence: 'likely' },
  ),
  text(
    /with the given Volume ID .* already exists/,
    'mount-hangs',
    'An earlier call of the driver still hangs. This error only follows from it.',
    ["read the log of the driver's node plugin, and check the network to the storage"],
  ),
  text(
    /find device path|no device path|claims to be .* but should be|findDiskByLun/,
    'device-missing',
    'The disk is attached, but its device does not appear in the guest.',
    ['reboot the Node, or move the pod; an old driver on a new type of machine does this, too'],
  ),
  text(
    /'?fsck'? found errors/,
    'filesystem-damaged',
    'The file system is damaged and does not repair itself. An unclean stop of the machine does that.',
    ['take a snapshot of the disk first, then run fsck by hand'],
  ),
  text(
    /wrong fs type|bad superblock|cannot mount unformatted disk|FilesystemMismatch/,
    'wrong-filesystem',
    'The file system on the disk is not the one that the volume asks for.',
    [
      'take a snapshot of the disk first, and format nothing: the data is there still',
      'then compare fsType of the PersistentVolume with the disk; a new XFS does not mount on an old kernel',
    ],
  ),
  text(
    /has volumeMode Block, but is specified in volumeMounts|has volumeMode Filesystem, but is specified in volumeDevices/,
    'wrong-volume-mode',
    'The pod and the claim disagree about volumeMode.',
    ['use volumeDevices for Block, and volumeMounts for Filesystem'],
  ),
  text(
    /Setting volume ownership|processed \d+ files|applyFSGroup/,
    'slow-ownership',
    'The kubelet changes the owner of every file on the volume. It works, and it takes long.',
    ['wait; for good: securityContext.fsGroupChangePolicy: OnRootMismatch'],
    { ending: 'by-itself' },
  ),
  text(
    /name is reserved|SELinuxLabelConflict|conflicting SELinux labels/,
    'slow-relabel',
    'Files are relabelled for SELinux, or two pods want different labels.',
    ['set the same seLinuxOptions on the pods, or use a driver with SELinux mounts'],
    { confidence: 'likely' },
  ),
  text(
    /mount failed: exit status 32|mount\.nfs|mount\.cifs|Connection (?:timed out|refused)/,
    'network-storage',
    'The server of the network storage does not answer, or refuses the mount.',
    ['check the server, its exports, and the firewall between it and the Node'],
  ),
  text(
    /csi-proxy|The system cannot find the file specified/,
    'windows-mount',
    'The mount on the Windows Node fails below the driver.',
    ['check that csi-proxy runs there, or use host-process containers, and that the disk is online'],
  ),
  text(
    /MountVolume\.NodeAffinity check failed|PVC is not bound|does not point to claim/,
    'mount-refused',
    'The kubelet refuses the mount: the claim and the volume do not belong to this Node or this claim.',
    ['compare claimRef and node affinity of the PersistentVolume with the claim and the Node'],
  ),
];

const isMountEvent = (reason: string): boolean =>
  [
    'FailedMount',
    'FailedMapVolume',
    'VolumePermissionChangeInProgress',
    'SELinuxLabelConflict',
    'FailedMountOnFilesystemMismatch',
  ].includes(reason);

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
    (reason, says) => isMountEvent(reason) && !/configmap|secret/i.test(says) && isAboutVolume(situation, says),
  );
  if (event === null) return null;
  const found = texts.find(({ sign }) => sign.test(event.says) || sign.test(event.reason));
  if (found) return ofText(situation, found, event);
  if (!isAttached(situation)) return null;
  return cause('mount-failed', 'likely', 'by-person', {
    says: `The kubelet of ${target.nodeName} cannot mount ${describeVolume(situation)}: ${firstLine(event.says)}`,
    proof: [`${event.reason} ${formatDuration(now - event.at)} ago`],
    waits: `${nameOf(pod)} ← the kubelet of ${target.nodeName}.`,
    next: [`read the log of the node plugin of ${handleOf(situation)?.driver ?? 'the driver'} on ${target.nodeName}`],
  });
};

/** A kubelet that has done nothing for this long is stuck. */
const SILENT_MS = 120_000;

/** The volume was attached recently, and the kubelet is mounting it. */
export const mountingNow: CauseRule = (situation) => {
  const { target, pod, now, events } = situation;
  const attachment = attachmentAt(target);
  if (target === null || !attachment?.attached || pod.runs || pod.deletionEnds !== null) return null;
  const since = Math.max(attachment.created, pod.created);
  if (now - since >= SILENT_MS || events.some(({ reason }) => isMountEvent(reason))) return null;
  return cause('moving-now', 'likely', 'by-itself', {
    says:
      `${describeVolume(situation)} is attached to ${target.nodeName}, and its kubelet mounts it and starts the ` +
      'pod. That takes some seconds.',
    proof: ['it is attached, and nothing failed so far'],
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
  if (now - since < SILENT_MS || events.some(({ reason }) => isMountEvent(reason))) return null;
  const listed = isListedAttached(target, situation);
  const node = nodeAt(target);
  return cause('kubelet-stuck', 'cannot-tell', 'by-person', {
    says: listed
      ? `${describeVolume(situation)} is attached to ${target.nodeName} since ${formatTime(since)}, and its ` +
        'kubelet does nothing with it. The reason can only be seen on the Node.'
      : `${describeVolume(situation)} is attached to ${target.nodeName}, but the Node's status does not list it: ` +
        'the attach-detach controller has not caught up.',
    proof: [
      ...(node ? [`volumesAttached of ${node.name} ${listed ? 'lists' : 'does not list'} the volume`] : []),
      ...(pod.changesOwnership
        ? ['the pod sets fsGroup without fsGroupChangePolicy: with many files that alone takes long']
        : []),
    ],
    waits: `${nameOf(pod)} ← ${listed ? `the kubelet of ${target.nodeName}` : 'attach-detach controller'}.`,
    next: [
      listed
        ? `restart the kubelet of ${target.nodeName}`
        : 'look at the controller-manager: does it run, and as leader?',
    ],
  });
};
