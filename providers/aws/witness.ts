import type { EC2Client, Volume } from '@aws-sdk/client-ec2';
import type { DiskId, MachineId, Witness } from '../../fencing/machine.ts';
import { names, volumesById } from './volumes-by-id.ts';

/** The forms in which EC2 names instances: a holder that is named otherwise may be anybody. */
const WHOLE_ID = /^i-(?:[0-9a-f]{8}|[0-9a-f]{17})$/;

/** Where it is attached, or that it is not, in a way that agrees with its state. */
const tellsWhere = ({ State, Attachments = [] }: Volume): boolean => {
  if (State === 'available') return Attachments.every((attachment) => attachment.State === 'detached');
  return State === 'in-use' && Attachments.length > 0 && Attachments.every(({ InstanceId, State: state }) => WHOLE_ID.test(InstanceId ?? '') && state !== undefined);
};

/**
 * What the disks say of a machine that EC2 does not know. EC2 describes only volumes of the caller's own account and
 * region, and volumes never leave theirs: when all that were attached to the machine are found, it was of this place.
 */
export const witness = async (client: EC2Client, machine: MachineId, disks: readonly DiskId[], signal: AbortSignal): Promise<Witness> => {
  const asked = new Set(disks);
  const found = await volumesById(client, disks, signal);
  if (found.some((volume) => names(volume, machine))) return 'held';
  return asked.size > 0 && found.length === asked.size && found.every(tellsWhere) ? 'released' : 'none';
};
