import { ifFound, type Situation } from '../model/facts.ts';

/** What is special about storage that is not a disk of a supported cloud. */

const CEPH = /(?:^|\.)(?:rbd|cephfs)\.csi\.ceph\.com$/;
const REPLICATED = /longhorn|openebs|mayastor|linstor|portworx|storageos/;

const NETWORK_KINDS = ['nfs', 'cephfs', 'azureFile'];
const NETWORK_DRIVERS = /nfs|smb|efs\.csi|file\.csi|filestore|cephfs/;

/** Whether the volume is a file system of a server in the network. */
export const isNetworkStorage = ({ volume }: Situation): boolean => {
  const found = ifFound(volume);
  return found !== null && (NETWORK_KINDS.includes(found.kind) || NETWORK_DRIVERS.test(found.handle?.driver ?? ''));
};

export const isCeph = ({ volume }: Situation): boolean => CEPH.test(ifFound(volume)?.handle?.driver ?? '');

export const cephNote = ({ networkFences }: Situation): readonly string[] => [
  'Ceph knows its clients: `rbd status <pool>/<image>` names who watches the image, `ceph osd blocklist ls` who is locked out',
  'ceph-csi locks a client out because of the out-of-service taint, so keep the Node until the volume is free',
  ...(networkFences.length > 0 ? [`NetworkFences in the cluster: ${networkFences.join(', ')}`] : []),
];

/** Says what a fence can and cannot do for this storage. Empty for a disk of a supported cloud. */
export const storageNote = (situation: Situation): readonly string[] => {
  const { diskId, volume } = situation;
  const handle = ifFound(volume)?.handle ?? null;
  if (diskId !== null || handle === null) return [];
  if (isCeph(situation)) return cephNote(situation);
  const own = REPLICATED.test(handle.driver) ? ' It replicates by itself: look at its own objects, too.' : '';
  return [
    `${handle.driver} has no disk of a supported cloud: a fence frees the Kubernetes side (pods, attachments) and detaches nothing in a cloud.${own}`,
  ];
};
