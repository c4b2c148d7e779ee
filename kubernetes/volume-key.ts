import type { VolumeHandle } from '../fencing/machine.ts';

const UNIQUE_NAME = /^kubernetes\.io\/csi\/([^^]+)\^(.+)$/;

export const volumeKey = ({ driver, handle }: VolumeHandle): string => `${driver}^${handle}`;

/** Reads a unique volume name of a Node's status, `kubernetes.io/csi/<driver>^<handle>`; null for volumes of another kind. */
export const volumeNamed = (uniqueName: string): VolumeHandle | null => {
  const [, driver, handle] = UNIQUE_NAME.exec(uniqueName) ?? [];
  return driver === undefined || handle === undefined ? null : { driver, handle };
};
