import {
  DescribeVolumesCommand,
  type EC2Client,
  type Instance,
  type Volume,
  type VolumeAttachment,
} from '@aws-sdk/client-ec2';
import { Unavailable } from '../../fencing/model/errors.ts';
import type { DiskAttachment, DiskId, MachineId, Witness, VolumeHandle } from '../../fencing/model/machine.ts';
import { askSkippingBadIds, chunksOf, requireAttachments } from './client.ts';
import { withCloudfenceErrors } from './errors.ts';
import type { DiskHolderView, DiskView } from '../../diagnosis/model/facts.ts';
import { diskOf } from './identity.ts';

/** EBS volumes: which are attached to an instance, which machines hold them, and what they show as witnesses. */

const AT_ONCE = 100;

/** The call contains only ids, so an invalid parameter value means an invalid id. */
const BAD_IDS = new Set(['InvalidVolume.NotFound', 'InvalidVolumeID.Malformed', 'InvalidParameterValue']);

/** Returns the volumes among these ids that EC2 knows. @throws Unavailable, PermissionDenied, Refused */
export const readVolumes = (
  client: EC2Client,
  disks: readonly DiskId[],
  signal: AbortSignal,
): Promise<readonly Volume[]> =>
  withCloudfenceErrors('ec2:DescribeVolumes', async () => {
    const found: Volume[] = [];
    for (const ids of chunksOf([...new Set(disks)], AT_ONCE)) {
      const answers = await askSkippingBadIds<Volume | null>(ids, (some) => describe(client, some, signal), {
        codes: BAD_IDS,
        verdict: () => null,
      });
      found.push(...answers.filter((volume) => volume !== null));
    }
    return found;
  });

/**
 * Reads volumes by id. EC2 answers for every id or returns an error, so an answer that omits a volume does not prove
 * that the volume is gone.
 */
const describe = async (client: EC2Client, ids: readonly DiskId[], signal: AbortSignal): Promise<readonly Volume[]> => {
  const answer = await client.send(new DescribeVolumesCommand({ VolumeIds: [...ids] }), { abortSignal: signal });
  const volumes = requireAttachments(answer.Volumes).filter(({ VolumeId }) => ids.some((id) => id === VolumeId));
  if (new Set(volumes.map(({ VolumeId }) => VolumeId)).size === ids.length && volumes.length === ids.length)
    return volumes;
  throw new Unavailable('the response to ec2:DescribeVolumes does not contain every requested volume');
};

export const isAttachedTo = (volume: Volume, machine: MachineId): boolean =>
  volume.Attachments?.some((attachment) => attachment.InstanceId === machine && attachment.State !== 'detached') ??
  false;

/** Returns the union of what the disks and the machine report. If both report a disk, the disk's own report is used. */
export const attachedDisks = (
  machine: MachineId,
  instance: Instance | null,
  volumes: readonly Volume[],
): readonly DiskAttachment[] => {
  const reported = volumes.flatMap((volume) => fromDisk(machine, instance, volume));
  const spoken = new Set(volumes.filter((volume) => attachmentOn(volume, machine)).map((volume) => volume.VolumeId));
  return [...reported, ...fromMachine(instance).filter((disk) => !spoken.has(disk.disk))];
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
      keep: whyDiskIsKept(instance, volume, attachment, state !== null),
    },
  ];
};

const whyDiskIsKept = (
  instance: Instance | null,
  volume: Volume,
  attachment: VolumeAttachment,
  stateKnown: boolean,
): string | null => {
  if (!instance) return 'EC2 does not know the instance, so its root device is unknown';
  if (instance.RootDeviceName === undefined || attachment.Device === instance.RootDeviceName) return 'root device';
  if (volume.MultiAttachEnabled || (volume.Attachments?.length ?? 0) > 1)
    return 'attached to several instances, or a Multi-Attach volume';
  if (instance.Operator?.Managed || volume.Operator?.Managed || attachment.AssociatedResource) return 'managed by AWS';
  return stateKnown ? null : `EC2 reports the unknown state ${attachment.State}`;
};

/**
 * Returns the disks that the machine reports. If only the machine reports a disk, Cloudfence shows the disk but does
 * not detach it, because the disk itself does not confirm the attachment.
 */
const fromMachine = (instance: Instance | null): readonly DiskAttachment[] =>
  (instance?.BlockDeviceMappings ?? []).flatMap(({ DeviceName, Ebs }) => {
    if (Ebs?.VolumeId === undefined || Ebs.Status === 'detached') return [];
    const keep =
      DeviceName === instance?.RootDeviceName ? 'root device' : 'the disk itself does not report this attachment';
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

/** The forms of EC2 instance ids. A holder with any other name could be any machine. */
const WHOLE_ID = /^i-(?:[0-9a-f]{8}|[0-9a-f]{17})$/;

/**
 * Returns whether the volume reports its attachments, or that it has none, and whether its state is consistent with
 * that.
 */
const hasConsistentAttachments = ({ State, Attachments = [] }: Volume): boolean => {
  if (State === 'available') return Attachments.every((attachment) => attachment.State === 'detached');
  return (
    State === 'in-use' &&
    Attachments.length > 0 &&
    Attachments.every(({ InstanceId, State: state }) => WHOLE_ID.test(InstanceId ?? '') && state !== undefined)
  );
};

/**
 * Returns what the disks show about a machine that EC2 does not know. EC2 describes only volumes in the caller's own
 * account and region, and volumes never move to another one. So if EC2 finds all volumes that were attached to the
 * machine, the machine belonged to this account and region.
 */
export const askWitnesses = async (
  client: EC2Client,
  machine: MachineId,
  disks: readonly DiskId[],
  signal: AbortSignal,
): Promise<Witness> => {
  const asked = new Set(disks);
  const found = await readVolumes(client, disks, signal);
  if (found.some((volume) => isAttachedTo(volume, machine))) return 'held';
  return asked.size > 0 && found.length === asked.size && found.every(hasConsistentAttachments) ? 'released' : 'none';
};

const holderOf = ({ InstanceId, State, AttachTime }: VolumeAttachment): readonly DiskHolderView[] =>
  InstanceId === undefined || State === 'detached'
    ? []
    : [{ machine: InstanceId, state: State ?? '', since: AttachTime?.getTime() ?? null }];

const viewOf = (disk: DiskId, volume: Volume | undefined): DiskView => ({
  disk,
  exists: volume !== undefined,
  state: volume?.State ?? '',
  zone: volume?.AvailabilityZone ?? null,
  shared: volume?.MultiAttachEnabled ?? false,
  holders: (volume?.Attachments ?? []).flatMap(holderOf),
  free: volume?.Attachments?.length === 0,
});

/**
 * Returns what each EBS volume says about itself. A volume that EC2 does not know in this account and region does not
 * exist there.
 *
 * @throws Unavailable, PermissionDenied, Refused
 */
export const viewDisks = async (
  client: EC2Client,
  volumes: readonly VolumeHandle[],
  signal: AbortSignal,
): Promise<readonly DiskView[]> => {
  const disks = [...new Set(volumes.map(diskOf).filter((disk) => disk !== null))];
  const found = await readVolumes(client, disks, signal);
  return disks.map((disk) =>
    viewOf(
      disk,
      found.find(({ VolumeId }) => VolumeId === disk),
    ),
  );
};

type ViewDisks = (volumes: readonly VolumeHandle[], signal: AbortSignal) => Promise<readonly DiskView[]>;

/** Asks every territory, and returns for each disk the answer of the territory that knows it. */
export const viewDisksOfAll =
  (territories: readonly ViewDisks[]): ViewDisks =>
  async (volumes, signal) => {
    const all = (await Promise.all(territories.map((view) => view(volumes, signal)))).flat();
    const byDisk = Map.groupBy(all, ({ disk }) => disk);
    return [...byDisk.values()].flatMap((views) => views.find(({ exists }) => exists) ?? views.slice(0, 1));
  };
