import { ifFound, type NodeLocation, type Situation } from '../model/facts.ts';
import { attachmentAt, handleOf, holdersOf } from './rule.ts';

/** The kind of the storage: whether several Nodes may have the volume at once, and who else tracks its users. */

const CEPH = /(?:^|\.)(?:rbd|cephfs)\.csi\.ceph\.com$/;
const REPLICATED = /longhorn|openebs|mayastor|linstor|portworx|storageos/;

const NETWORK_KINDS = ['nfs', 'cephfs', 'azureFile'];
const NETWORK_DRIVERS = /nfs|smb|efs\.csi|file\.csi|filestore|cephfs/;

/** Returns whether the volume is a file system on a network server. */
export const isNetworkStorage = ({ volume }: Situation): boolean => {
  const found = ifFound(volume);
  return found !== null && (NETWORK_KINDS.includes(found.kind) || NETWORK_DRIVERS.test(found.handle?.driver ?? ''));
};

/** Returns whether the cloud rejects the attach because another machine has the disk. */
export const isRefused = ({ target }: Situation): boolean =>
  attachmentAt(target)?.attachError?.fault === 'attached-elsewhere';

/**
 * Returns whether Kubernetes attaches the volume to several Nodes at once: isMultiAttachAllowed of its attach-detach
 * controller, which reads the access modes of the PersistentVolume.
 */
export const canBeShared = ({ volume, claim }: Situation): boolean =>
  (ifFound(volume) ?? ifFound(claim))?.accessModes.some(
    (mode) => mode === 'ReadWriteMany' || mode === 'ReadOnlyMany',
  ) ?? false;

/**
 * Returns the other locations that keep the pod from its volume. A volume that several Nodes may have waits for none
 * of them, unless the cloud itself refuses it.
 */
export const blockersOf = (situation: Situation): readonly NodeLocation[] =>
  isRefused(situation) || !(canBeShared(situation) || isNetworkStorage(situation)) ? holdersOf(situation) : [];

export const isCeph = ({ volume }: Situation): boolean => CEPH.test(ifFound(volume)?.handle?.driver ?? '');

export const cephNote = ({ networkFences }: Situation): readonly string[] => [
  'Ceph knows its clients: `rbd status <pool>/<image>` names who watches the image, `ceph osd blocklist ls` ' +
    'who is locked out',
  'ceph-csi locks a client out because of the out-of-service taint, so keep the Node until the volume is free',
  ...(networkFences.length > 0 ? [`NetworkFences in the cluster: ${networkFences.join(', ')}`] : []),
];

/** Describes what a fence can and cannot do for this storage. Empty for a disk of a supported cloud. */
export const storageNote = (situation: Situation): readonly string[] => {
  const { diskId } = situation;
  const handle = handleOf(situation);
  if (diskId !== null || handle === null) return [];
  if (isCeph(situation)) return cephNote(situation);
  const own = REPLICATED.test(handle.driver) ? ' It replicates by itself: look at its own objects, too.' : '';
  return [
    `${handle.driver} has no disk of a supported cloud: a fence frees the Kubernetes side (pods, attachments) ` +
      `and detaches nothing in a cloud.${own}`,
  ];
};
