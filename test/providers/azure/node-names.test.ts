import { describe, expect, it } from 'vitest';
import { candidateNodeNames, machinesNamed } from '../../../providers/azure/identity.ts';

const PLACE = '/subscriptions/s/resourcegroups/mc_blue/providers/microsoft.compute';
const volume = {
  driver: 'disk.csi.azure.com',
  handle: '/subscriptions/S/resourceGroups/MC_Blue/providers/Microsoft.Compute/disks/pvc-1',
};

describe('names of Nodes on Azure', () => {
  it.each([
    [`${PLACE}/virtualmachines/db-0`, ['db-0']],
    [`${PLACE}/virtualmachinescalesets/aks-pool-vmss/virtualmachines/10`, ['aks-pool-vmss00000a']],
    ['no machine', []],
  ])('are derived from the ID of a machine that is gone: %s', (machine, names) => {
    expect(candidateNodeNames(machine)).toEqual(names);
  });

  it('lead to the machine’s possible ID, in the resource group of the disk', () => {
    expect(machinesNamed('aks-pool-vmss00000a', volume)).toEqual([
      `${PLACE}/virtualmachinescalesets/aks-pool-vmss/virtualmachines/10`,
      `${PLACE}/virtualmachines/aks-pool-vmss00000a`,
    ]);
    expect(machinesNamed('db-0', volume)).toEqual([`${PLACE}/virtualmachines/db-0`]);
  });

  it('lead to nothing for a volume of another driver', () => {
    expect(machinesNamed('db-0', { driver: 'file.csi.azure.com', handle: volume.handle })).toEqual([]);
  });
});
