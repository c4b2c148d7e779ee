import type { CauseKind, Confidence, WaitEnd } from '../model/cause.ts';

/** The messages of kubelets, drivers, and file systems about a mount that fails, and what a person does about each. */

export interface MountText {
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
    /rbd image .* is still being used|rbd: map failed[^]*busy/,
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
    /ReadWriteOncePod access mode and is already in use/,
    'read-write-once-pod',
    'The claim is ReadWriteOncePod, and another pod on this Node uses it.',
    ['stop the other pod first; for a Deployment: strategy Recreate', 'or use ReadWriteOnce'],
  ),
  text(
    /[Ss]ecrets? .*not found|fetching Node\w+SecretRef|failed to find the secret/,
    'mount-refused',
    'The driver needs a Secret for the mount, and cannot read it.',
    ['create the Secret that the message names, in the namespace that the PersistentVolume or its StorageClass names'],
  ),
  text(
    /might need a \/sbin\/mount\.|unknown filesystem type/,
    'network-storage',
    'The Node lacks the program or the kernel module that mounts this type of file system.',
    ['install it on every Node (nfs-common or nfs-utils, cifs-utils, xfsprogs), or use an image that has it'],
  ),
  text(
    /already mounted or mount point busy|[Dd]evice or resource busy|apparently in use by the system/,
    'mount-failed',
    'Something else on the Node holds the device: multipathd, LVM, or an earlier mount.',
    [
      'on the Node: lsblk, multipath -ll, and grep the device in /proc/*/mountinfo. For multipathd: blacklist the ' +
        'device and restart multipathd',
      'do not format or wipe the device',
    ],
    { confidence: 'likely' },
  ),
  text(
    /path "[^"]+" does not exist|hostPath type check failed/,
    'device-missing',
    'The directory of the volume does not exist on the Node: its disk is not mounted there since the last boot, or a ' +
      'stop has emptied it (instance store).',
    [
      'mount the disk at that path again, and put it into /etc/fstab',
      'do not create an empty directory there: the application would begin without its data',
    ],
    { confidence: 'likely' },
  ),
  text(
    /[Ss]tale (?:NFS )?file handle|[Tt]ransport endpoint is not connected/,
    'network-storage',
    'The mount on the Node is dead: the server has replaced its export, or the process that serves it has ended.',
    ['restart the pods that use it on the Node; if the mount stays, drain and reboot the Node'],
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
    /device-mapper multipath|no multipath device|multipath device .*not found/,
    'device-missing',
    'The disk is attached, but multipath has made no device for it on the Node.',
    ['on the Node: multipath -ll, and multipathd: does it run, and does its configuration accept this disk?'],
  ),
  text(
    /No key available with this passphrase|luksOpen failed/,
    'key-unusable',
    'The volume is encrypted on the Node (LUKS), and the passphrase of its Secret does not open it.',
    [
      'find the Secret with which the volume was made: it may have been rotated or created again',
      'keep the disk as it is: without the right passphrase, nobody can read it again',
    ],
  ),
  text(
    /Unknown parameter|[Uu]nrecognized mount option|bad mount option/,
    'mount-failed',
    'The file system does not know a mount option of the volume.',
    [
      'compare spec.mountOptions of the PersistentVolume with the file system: it was copied from the StorageClass',
      'correct both: kubectl edit pv changes the option of this volume, and the class those of later volumes',
    ],
  ),
  text(
    /special device \S*kubelet\S* does not exist|lstat \S*kubelet\S*: no such file or directory/,
    'mount-failed',
    'The driver and the kubelet do not use the same folder of the Node.',
    [
      "compare the kubelet's --root-dir with the folder in the values of the driver: k0s, MicroK8s, and others do " +
        'not use /var/lib/kubelet',
    ],
    { confidence: 'likely' },
  ),
  text(
    /mount error\(13\)|mount\.cifs.*Permission denied/,
    'network-storage',
    'The server of the share refuses the credentials of the mount.',
    ['compare the Secret of the driver with the key or the password of the share: it may have been rotated'],
  ),
  text(
    /'?fsck'? found errors|[Ss]tructure needs cleaning|can't read superblock|Bad message|Please run '?e2fsck/,
    'filesystem-damaged',
    'The file system is damaged and does not repair itself. An unclean stop of the machine does that.',
    [
      'take a snapshot of the disk first, then run fsck by hand',
      'XFS: mount it once by hand, then xfs_repair. Only as the last resort xfs_repair -L: it throws the log away',
    ],
  ),
  text(
    /write-protected|cannot remount .* read-write/,
    'read-only',
    'The disk is attached read-only, and the mount asks to write.',
    ['compare readOnly and the access modes of the pod and the PersistentVolume with how the disk is attached'],
  ),
  text(
    /wrong fs type|bad superblock|cannot mount unformatted disk|FilesystemMismatch/,
    'wrong-filesystem',
    'The file system on the disk is not the one that the volume asks for.',
    [
      'take a snapshot of the disk first, and format nothing: the data is there still',
      'then compare fsType of the PersistentVolume with the disk; a new XFS does not mount on an old kernel',
      'a clone or a restored snapshot of XFS does not mount beside its origin: mountOptions: [nouuid]',
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
    /mount\.nfs|mount\.cifs|SmbGlobalMapping|Connection (?:timed out|refused)|No route to host/,
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
  text(
    /code = DeadlineExceeded|context deadline exceeded/,
    'mount-hangs',
    'A call of the kubelet to the driver does not end in time.',
    ["read the log of the driver's node plugin on the Node, and check the network to the storage"],
    { confidence: 'likely' },
  ),
];

/** A failed mount of any kind ends with this status. On network storage, it mostly means the server. */
const FAILED = text(
  /mount failed: exit status 32/,
  'network-storage',
  'The server of the network storage does not answer, or refuses the mount.',
  ['check the server, its exports, and the firewall between it and the Node'],
  { confidence: 'likely' },
);

/** Returns the text for a message of a kubelet, or null. */
export const mountTextOf = (
  { says, reason }: { readonly says: string; readonly reason: string },
  isOnNetwork: boolean,
): MountText | null => {
  const known = [...texts, ...(isOnNetwork ? [FAILED] : [])];
  return known.find(({ sign }) => sign.test(says) || sign.test(reason)) ?? null;
};

/** Returns the text for an error of a storage system that replicates by itself, or null. */
export const storageTextOf = (says: string): MountText | null =>
  texts.find(({ kind, sign }) => kind === 'storage-not-ready' && sign.test(says)) ?? null;

const MOUNT_EVENTS = [
  'FailedMount',
  'FailedMapVolume',
  'VolumePermissionChangeInProgress',
  'SELinuxLabelConflict',
  'FailedMountOnFilesystemMismatch',
];

export const isMountEvent = (reason: string): boolean => MOUNT_EVENTS.includes(reason);

/** Kubelets of earlier versions repeat every two minutes that they wait, and do not say for what. */
export const isEcho = (says: string): boolean => says.startsWith('Unable to attach or mount volumes:');
