import type { Instance, Volume, VolumeAttachment } from '@aws-sdk/client-ec2';
import type { DiskAttachment, MachineId } from '../../fencing/machine.ts';

/** The union of what the disks and the machine say; where both speak of a disk, the disk is right. */
export const attachedDisks = (machine: MachineId, instance: Instance | null, volumes: readonly Volume[]): readonly DiskAttachment[] => {
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
  return [{ disk: volume.VolumeId, state: state ?? 'attached', keep: keepReason(instance, volume, attachment, state !== null) }];
};

const keepReason = (instance: Instance | null, volume: Volume, attachment: VolumeAttachment, stateKnown: boolean): string | null => {
  if (!instance) return 'EC2 does not know the instance, so its root device cannot be told apart';
  if (instance.RootDeviceName === undefined || attachment.Device === instance.RootDeviceName) return 'root device';
  if (volume.MultiAttachEnabled || (volume.Attachments?.length ?? 0) > 1) return 'attached to several instances, or made for it';
  if (instance.Operator?.Managed || volume.Operator?.Managed || attachment.AssociatedResource) return 'managed by AWS';
  return stateKnown ? null : `EC2 shows the state ${attachment.State}, which is not known here`;
};

/** What only the machine says is shown and left alone: the disk itself has not confirmed it. */
const fromMachine = (instance: Instance | null): readonly DiskAttachment[] =>
  (instance?.BlockDeviceMappings ?? []).flatMap(({ DeviceName, Ebs }) => {
    if (Ebs?.VolumeId === undefined || Ebs.Status === 'detached') return [];
    const keep = DeviceName === instance?.RootDeviceName ? 'root device' : 'the disk itself does not show this attachment';
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
