import type { EC2Client, Volume } from '@aws-sdk/client-ec2';
import { DescribeVolumesCommand } from '@aws-sdk/client-ec2';
import { Unavailable } from '../../fencing/errors.ts';
import type { DiskId, MachineId } from '../../fencing/machine.ts';
import { wholeVolumes } from './answers.ts';
import { translated } from './errors.ts';
import { askInHalves, chunksOf } from './halves.ts';

const AT_ONCE = 100;

/** The call carries ids and nothing else, so a bad parameter value is a bad id. */
const BAD_IDS = new Set(['InvalidVolume.NotFound', 'InvalidVolumeID.Malformed', 'InvalidParameterValue']);

/** Those of the volumes that EC2 knows, asked for by id. @throws Unavailable, Denied, Refused */
export const volumesById = (client: EC2Client, disks: readonly DiskId[], signal: AbortSignal): Promise<readonly Volume[]> =>
  translated('ec2:DescribeVolumes', async () => {
    const found: Volume[] = [];
    for (const ids of chunksOf([...new Set(disks)], AT_ONCE)) {
      const answers = await askInHalves<Volume | null>(ids, (some) => describe(client, some, signal), { codes: BAD_IDS, verdict: () => null });
      found.push(...answers.filter((volume) => volume !== null));
    }
    return found;
  });

/** EC2 answers for each id, or with an error: an answer that leaves one out does not say that it is gone. */
const describe = async (client: EC2Client, ids: readonly DiskId[], signal: AbortSignal): Promise<readonly Volume[]> => {
  const answer = await client.send(new DescribeVolumesCommand({ VolumeIds: [...ids] }), { abortSignal: signal });
  const volumes = wholeVolumes(answer.Volumes).filter(({ VolumeId }) => ids.some((id) => id === VolumeId));
  if (new Set(volumes.map(({ VolumeId }) => VolumeId)).size === ids.length && volumes.length === ids.length) return volumes;
  throw new Unavailable('ec2:DescribeVolumes did not answer for each volume that it was asked for');
};

export const names = (volume: Volume, machine: MachineId): boolean =>
  volume.Attachments?.some((attachment) => attachment.InstanceId === machine && attachment.State !== 'detached') ?? false;
