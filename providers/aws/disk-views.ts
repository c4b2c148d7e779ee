import type { EC2Client, Volume, VolumeAttachment } from '@aws-sdk/client-ec2';
import type { DiskHolderView, DiskView } from '../../diagnosis/model/facts.ts';
import type { DiskId, VolumeHandle } from '../../fencing/model/machine.ts';
import { readVolumes } from './disks.ts';
import { diskOf } from './identity.ts';

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

/** Asks every territory, and keeps for each disk the answer of the territory that knows it. */
export const viewDisksOfAll =
  (territories: readonly ViewDisks[]): ViewDisks =>
  async (volumes, signal) => {
    const all = (await Promise.all(territories.map((view) => view(volumes, signal)))).flat();
    const byDisk = Map.groupBy(all, ({ disk }) => disk);
    return [...byDisk.values()].flatMap((views) => views.find(({ exists }) => exists) ?? views.slice(0, 1));
  };
