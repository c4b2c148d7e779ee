import type { IdentitySource, VolumeHandle } from '../../../fencing/model/machine.ts';

/** The cloud provider writes only the resource group in lower case. */
export const azureProviderId = (armId: string): IdentitySource => ({
  source: 'providerID',
  driver: null,
  value: `azure://${armId.replace(/\/resourceGroups\/[^/]+/, (group) => group.toLowerCase().replace('resourcegroups', 'resourceGroups'))}`,
});

export const azureVolume = (armId: string): VolumeHandle => ({ driver: 'disk.csi.azure.com', handle: armId });
