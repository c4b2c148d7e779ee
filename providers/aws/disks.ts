import {
  DescribeVolumesCommand,
  type EC2Client,
  type Instance,
  type Volume,
  type VolumeAttachment,
} from '@aws-sdk/client-ec2';
import { Unavailable } from '../../fencing/model/errors.ts';
import type { DiskAttachment, DiskId, MachineId, Witness } from '../../fencing/model/machine.ts';
import { askInHalves, chunksOf, wholeVolumes } from './describe.ts';
import { withCloudfenceErrors } from './errors.ts';

const AT_ONCE = 100;

/** The call carries ids and nothing else, so a bad parameter value is a bad id. */
const BAD_IDS = new Set(['InvalidVolume.NotFound', 'InvalidVolumeID.Malformed', 'InvalidParameterValue']);

/** Those of the volumes that EC2 knows, asked for by id. @throws Unavailable, Denied, Refused */
export const volumesById = (
  client: EC2Client,
  disks: readonly DiskId[],
  signal: AbortSignal,
): Promise<readonly Volume[]> =>
  withCloudfenceErrors('ec2:DescribeVolumes', async () => {
    const found: Volume[] = [];
    for (const ids of chunksOf([...new Set(disks)], AT_ONCE)) {
      const answers = await askInHalves<Volume | null>(ids, (some) => describe(client, some, signal), {
        codes: BAD_IDS,
        verdict: () => null,
      });
      found.push(...answers.filter((volume) => volume !== null));
    }
    return found;
  });

/** EC2 answers for each id, or with an error: an answer that leaves one out does not say that it is gone. */
const describe = async (client: EC2Client, ids: readonly DiskId[], signal: AbortSignal): Promise<readonly Volume[]> => {
  const answer = await client.send(new DescribeVolumesCommand({ VolumeIds: [...ids] }), { abortSignal: signal });
  const volumes = wholeVolumes(answer.Volumes).filter(({ VolumeId }) => ids.some((id) => id === VolumeId));
  if (new Set(volumes.map(({ VolumeId }) => VolumeId)).size === ids.length && volumes.length === ids.length)
    return volumes;
  throw new Unavailable('ec2:DescribeVolumes did not answer for each volume that it was asked for');
};

export const names = (volume: Volume, machine: MachineId): boolean =>
  volume.Attachments?.some((attachment) => attachment.InstanceId === machine && attachment.State !== 'detached') ??
  false;

/** The union of what the disks and the machine say; where both speak of a disk, the disk is right. */
export const attachedDisks = (
  machine: MachineId,
  instance: Instance | null,
  volumes: readonly Volume[],
): readonly DiskAttachment[] => {
  const told = volumes.flatMap((volume) => fromDisk(machine, instance, volume));
  const spoken = new Set(volumes.filter((volume) => attachmentOn(volume, machine)).map((volume) => volume.VolumeId));
  return [...told, ...fromMachine(instance).filter((disk) => !spoken.has(disk.disk))];
};

const attachmentOn = (volume: Volume, machine: MachineId): VolumeAttachment | undefined =>
  volume.Attachments?.find((attachment) => attachment.InstanceId === machine);

const fromDisk = (machine: MachineId, instance: Instance | null, volume: Volume): readonly DiskAttachment[] => {
  const attachment = attachmentOn(volume, machine);
  if (!attachment || volume.VolumeId === undefined || attachment.State === 'detached') return [];
  const state = knownState(attachment.State);
  return [
    {
      disk: volume.VolumeId,
      state: state ?? 'attached',
      keep: keepReason(instance, volume, attachment, state !== null),
    },
  ];
};

const keepReason = (
  instance: Instance | null,
  volume: Volume,
  attachment: VolumeAttachment,
  stateKnown: boolean,
): string | null => {
  if (!instance) return 'EC2 does not know the instance, so its root device cannot be told apart';
  if (instance.RootDeviceName === undefined || attachment.Device === instance.RootDeviceName) return 'root device';
  if (volume.MultiAttachEnabled || (volume.Attachments?.length ?? 0) > 1)
    return 'attached to several instances, or made for it';
  if (instance.Operator?.Managed || volume.Operator?.Managed || attachment.AssociatedResource) return 'managed by AWS';
  return stateKnown ? null : `EC2 shows the state ${attachment.State}, which is not known here`;
};

/** What only the machine says is shown and left alone: the disk itself has not confirmed it. */
const fromMachine = (instance: Instance | null): readonly DiskAttachment[] =>
  (instance?.BlockDeviceMappings ?? []).flatMap(({ DeviceName, Ebs }) => {
    if (Ebs?.VolumeId === undefined || Ebs.Status === 'detached') return [];
    const keep =
      DeviceName === instance?.RootDeviceName ? 'root device' : 'the disk itself does not show this attachment';
    return [{ disk: Ebs.VolumeId, state: knownState(Ebs.Status) ?? 'attached', keep }];
  });

const knownState = (state: string | undefined): DiskAttachment['state'] | null => {
  switch (state) {
    case 'attaching':
    case 'attached':
    case 'detaching':
    case 'busy':
      return state;
    case undefined:
    default:
      return null;
  }
};

/** The forms in which EC2 names instances: a holder that is named otherwise may be anybody. */
const WHOLE_ID = /^i-(?:[0-9a-f]{8}|[0-9a-f]{17})$/;

/** Where it is attached, or that it is not, in a way that agrees with its state. */
const tellsWhere = ({ State, Attachments = [] }: Volume): boolean => {
  if (State === 'available') return Attachments.every((attachment) => attachment.State === 'detached');
  return (
    State === 'in-use' &&
    Attachments.length > 0 &&
    Attachments.every(({ InstanceId, State: state }) => WHOLE_ID.test(InstanceId ?? '') && state !== undefined)
  );
};

/**
 * What the disks say of a machine that EC2 does not know. EC2 describes only volumes of the caller's own account and
 * region, and volumes never leave theirs: when all that were attached to the machine are found, it was of this place.
 */
export const witness = async (
  client: EC2Client,
  machine: MachineId,
  disks: readonly DiskId[],
  signal: AbortSignal,
): Promise<Witness> => {
  const asked = new Set(disks);
  const found = await volumesById(client, disks, signal);
  if (found.some((volume) => names(volume, machine))) return 'held';
  return asked.size > 0 && found.length === asked.size && found.every(tellsWhere) ? 'released' : 'none';
};
