import type { IdentitySource, VolumeHandle } from '../../../fencing/model/machine.ts';

export const ec2ProviderId = (zone: string, instance: string): IdentitySource => ({
  source: 'providerID',
  driver: null,
  value: `aws:///${zone}/${instance}`,
});

export const ebsAttachedTo = (instance: string): IdentitySource => ({
  source: 'volumeAttachment',
  driver: 'ebs.csi.aws.com',
  value: instance,
});

export const ebsVolume = (disk: string): VolumeHandle => ({ driver: 'ebs.csi.aws.com', handle: disk });

/** EC2 shows terminated machines for an hour, and a hard power-off is a stop like any other. */
export const ec2Endings = { afterTermination: { power: 'off', forGood: true }, afterPowerOff: 'off' } as const;
