import type { IdentityCarrier, VolumeHandle } from '../../../fencing/machine.ts';

export const ec2ProviderId = (zone: string, instance: string): IdentityCarrier => ({
  carrier: 'providerID',
  driver: null,
  value: `aws:///${zone}/${instance}`,
});

export const ebsVolume = (disk: string): VolumeHandle => ({ driver: 'ebs.csi.aws.com', handle: disk });
