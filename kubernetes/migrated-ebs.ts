import type { V1PersistentVolume } from '@kubernetes/client-node/dist/gen/index.js';
import type { VolumeHandle } from '../fencing/machine.ts';

const VOLUME_ID = /^(?:aws:\/\/[^/]*\/)?(vol-[^/]+)$/;

/** An in-tree EBS volume as its CSI driver sees it: csi-translation-lib, plugins/aws_ebs.go, KubernetesVolumeIDToEBSVolumeID. */
export const migratedEbs = ({ spec }: V1PersistentVolume): VolumeHandle | null => {
  const handle = VOLUME_ID.exec(spec?.awsElasticBlockStore?.volumeID ?? '')?.[1];
  return handle === undefined ? null : { driver: 'ebs.csi.aws.com', handle };
};
