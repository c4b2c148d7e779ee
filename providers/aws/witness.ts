import type { EC2Client, Volume } from '@aws-sdk/client-ec2';
import type { DiskId, MachineId, Witness } from '../../fencing/machine.ts';
import { names, volumesById } from './volumes-by-id.ts';

/** A volume that is being made or is going away says nothing of where it was attached. */
const standsFirm = (volume: Volume): boolean => volume.State === 'available' || volume.State === 'in-use';

/**
 * What the disks say of a machine that EC2 does not know. EC2 describes only volumes of the caller's own account and
 * region, so a volume that it finds vouches for both.
 */
export const witness = async (client: EC2Client, machine: MachineId, disks: readonly DiskId[], signal: AbortSignal): Promise<Witness> => {
  const found = await volumesById(client, disks, signal);
  if (found.some((volume) => names(volume, machine))) return 'held';
  return found.some(standsFirm) ? 'released' : 'none';
};
