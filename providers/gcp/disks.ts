import type { DiskId, VolumeHandle } from '../../fencing/machine.ts';
import { PD_DRIVER } from './carriers.ts';
import { diskPath } from './paths.ts';

/**
 * The disk behind a CSI volume. Null for other drivers' volumes, and for a handle that leaves its project or zone
 * `UNSPECIFIED`, or stands for a disk in each of many zones: such a disk cannot be asked for by id.
 * https://github.com/kubernetes-sigs/gcp-compute-persistent-disk-csi-driver
 */
export const diskOf = ({ driver, handle }: VolumeHandle): DiskId | null => (driver === PD_DRIVER && diskPath(handle) !== null ? handle : null);
