import type { DiskId, VolumeHandle } from '../../fencing/machine.ts';
import { isEbs } from './carriers.ts';
import { VOLUME_ID } from './ids.ts';

/** `vol-…`, or `aws://<zone>/vol-…` as volumes of the former in-tree plugin are named. */
const HANDLE = /^(?:aws:\/\/[^/]*\/)?([^/]+)$/;

/** The EBS volume behind a CSI volume, or null: `local-ebs://` handles and other drivers' volumes are no disks to detach. */
export const diskOf = ({ driver, handle }: VolumeHandle): DiskId | null => {
  const id = isEbs(driver) ? HANDLE.exec(handle)?.[1] : undefined;
  return id !== undefined && VOLUME_ID.test(id) ? id : null;
};
