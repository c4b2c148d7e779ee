import type { DiskId, VolumeHandle } from '../../fencing/machine.ts';
import { diskPath } from './ids.ts';

export const AZURE_DISK_DRIVER = 'disk.csi.azure.com';

/** The managed disk behind a CSI volume, or null: other drivers' volumes and unmanaged disks are none that could be detached. */
export const diskOf = ({ driver, handle }: VolumeHandle): DiskId | null => (driver === AZURE_DISK_DRIVER ? (diskPath(handle)?.id ?? null) : null);
