import type { Cloud } from '../../fencing/cloud.ts';
import type { DiskId, MachineId, VolumeHandle } from '../../fencing/machine.ts';
import { PD_DRIVER, incarnationsOf, machineOf } from './carriers.ts';
import { diskPath, instancePath } from './paths.ts';

/**
 * The disk behind a CSI volume. Null for other drivers' volumes, and for a handle that leaves its project or zone
 * `UNSPECIFIED`, or stands for a disk in each of many zones: such a disk cannot be asked for by id without more.
 * https://github.com/kubernetes-sigs/gcp-compute-persistent-disk-csi-driver
 */
export const diskOf = ({ driver, handle }: VolumeHandle): DiskId | null => (driver === PD_DRIVER && diskPath(handle) !== null ? handle : null);

const UNSPECIFIED = /^projects\/UNSPECIFIED\/(?=zones\/|regions\/)/;
const ANY_ZONE = /(?<=\/)zones\/UNSPECIFIED\//;

/**
 * The same beside one instance. Volumes of the former in-tree plugin name no project, and those that a pod names itself no
 * zone: the driver takes the Node's, and Compute Engine attaches no disk of another project or place.
 */
export const diskBeside =
  (machine: MachineId) =>
  ({ driver, handle }: VolumeHandle): DiskId | null => {
    const place = instancePath(machine);
    if (!place) return diskOf({ driver, handle });
    return diskOf({ driver, handle: handle.replace(UNSPECIFIED, `projects/${place.project}/`).replace(ANY_ZONE, `zones/${place.zone}/`) });
  };

export const readingFor: NonNullable<Cloud['readingFor']> = (machine) => ({ name: 'gcp', machineOf, incarnationsOf, unservedPlace: () => null, diskOf: diskBeside(machine) });
