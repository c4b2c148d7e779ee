import type { V1PersistentVolume } from '@kubernetes/client-node/dist/gen/index.js';
import type { VolumeHandle } from '../fencing/machine.ts';
import { migratedEbs } from './migrated-ebs.ts';

/** In-tree volumes that Kubernetes hands over to a CSI driver. */
const migrations = [migratedEbs] as const;

/** The CSI volume behind a PersistentVolume, or null when there is none: such a volume is never attached by CSI. */
export const handleOf = (volume: V1PersistentVolume): VolumeHandle | null => {
  const csi = volume.spec?.csi;
  if (csi) return { driver: csi.driver, handle: csi.volumeHandle };
  return migrations.map((migrated) => migrated(volume)).find((handle) => handle !== null) ?? null;
};
