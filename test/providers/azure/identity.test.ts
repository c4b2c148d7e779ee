import { describe, expect, it } from 'vitest';
import type { IdentitySource } from '../../../fencing/model/machine.ts';
import {
  clusterNamesFromTags,
  diskOf,
  immutableIdsOf,
  isMachine,
  machineOf,
  unservedScope,
  diskPath,
  flexibleSetMember,
  isSameDisk,
  machinePath,
  scaleSetPath,
} from '../../../providers/azure/identity.ts';

const compute = '/subscriptions/S-1/resourceGroups/MC_Blue/providers/Microsoft.Compute';
const vm = `${compute}/virtualMachines/Db-0`;
const instance = `${compute}/virtualMachineScaleSets/aks-Pool-vmss/virtualMachines/7`;
const disk = `${compute}/disks/PVC-1`;
const DRIVER = 'disk.csi.azure.com';

describe('the machine that an identity source names', () => {
  it.each([
    [`azure://${vm}`, vm.toLowerCase()],
    [`azure://${vm.toLowerCase()}`, vm.toLowerCase()],
    [`AZURE://${vm.toUpperCase()}`, vm.toLowerCase()],
    [vm, vm.toLowerCase()],
    [`azure://${instance}`, instance.toLowerCase()],
    [
      `azure://${compute}/virtualMachineScaleSets/set/virtualMachines/set_12`,
      `${compute}/virtualmachinescalesets/set/virtualmachines/12`.toLowerCase(),
    ],
    [`azure://${compute}/virtualMachineScaleSets/set/virtualMachines/other_12`, null],
    [`azure://${compute}/virtualMachineScaleSets/set`, null],
    [`azure://${vm}/extensions/agent`, null],
    [`azure://${vm} `, null],
    [`azure://${compute}/virtualMachines/..`, null],
    [`azure://${vm.replace('MC_Blue', '..')}`, null],
    [`xazure://${vm}`, null],
    [vm.replace('S-1', 'Sazure://-1'), null],
    [`azure://x${vm}`, null],
    [`azure://${compute}/virtualMachines/`, null],
    [`azure://${compute}/virtualMachineScaleSets/set/virtualMachines/7x`, null],
    [`azure://${compute}/virtualMachineScaleSets/set/virtualMachines/x7`, null],
    [`azure://${compute}/virtualMachineScaleSets/set/virtualMachines/set_`, null],
    [`azure://${disk}`, null],
    ['aws:///eu-central-1a/i-0633ac2b0d9769723', null],
    ['gce://project/zone/db-0', null],
    ['azure://', null],
    ['', null],
  ])('providerID %s names %s', (value, machine) => {
    expect(machineOf({ source: 'providerID', driver: null, value })).toBe(machine);
  });

  it.each(['csiNode', 'nodeIdAnnotation', 'volumeAttachment', 'systemUUID', 'instanceIdAnnotation'] as const)(
    '%s names no machine, because it contains a name or another ID',
    (source) => {
      const written = (driver: string | null, value: string): IdentitySource => ({ source, driver, value });
      for (const value of ['aks-pool-vmss000007', vm, `azure://${vm}`])
        expect(machineOf(written(DRIVER, value))).toBeNull();
    },
  );

  it('is the same for a disk, which names an instance by its name', () => {
    expect(isMachine(instance.replace('/7', '/aks-pool-vmss_7').toUpperCase(), instance.toLowerCase())).toBe(true);
    expect(isMachine(instance.replace('/7', '/aks-pool-vmss_71'), instance.toLowerCase())).toBe(false);
    expect(isMachine(`${vm}1`, vm.toLowerCase())).toBe(false);
    expect(isMachine('db-0', vm.toLowerCase())).toBe(false);
  });
});

describe('the parts of an ID', () => {
  const place = {
    subscription: 's-1',
    group: 'mc_blue',
  };
  it('are those of a machine, of either kind', () => {
    expect(machinePath(vm)).toEqual({ kind: 'vm', id: vm.toLowerCase(), ...place, name: 'db-0' });
    expect(machinePath(instance)).toEqual({
      kind: 'instance',
      id: instance.toLowerCase(),
      ...place,
      set: 'aks-pool-vmss',
      instance: '7',
    });
    expect(machinePath(disk)).toBeNull();
  });

  it('are those of a disk, or of a scale set', () => {
    const set = `${compute}/virtualMachineScaleSets/Pool`;
    expect(diskPath(disk)).toEqual({ id: disk.toLowerCase(), ...place, name: 'pvc-1' });
    expect(diskPath(vm)).toBeNull();
    expect(scaleSetPath(set)).toEqual({ id: set.toLowerCase(), ...place, set: 'pool' });
    expect(scaleSetPath(instance)).toBeNull();
    expect(scaleSetPath(vm)).toBeNull();
  });

  it('show the machine of a flexible scale set, which has a name instead of a number', () => {
    const member = (name: string) =>
      flexibleSetMember(`${compute}/virtualMachineScaleSets/Pool/virtualMachines/${name}`);
    expect(member('Pool_a1b2')).toEqual({
      kind: 'vm',
      id: `${compute}/virtualmachines/pool_a1b2`.toLowerCase(),
      ...place,
      name: 'pool_a1b2',
    });
    expect(member('7')).toBeNull();
    expect(member('pool_7')).toBeNull();
    expect(flexibleSetMember(vm)).toBeNull();
  });

  it('are compared in any letter case', () => {
    expect(isSameDisk(disk, disk.toLowerCase())).toBe(true);
    expect(isSameDisk(`${disk}0`, disk.toLowerCase())).toBe(false);
    expect(isSameDisk(undefined, disk.toLowerCase())).toBe(false);
  });
});

describe('the incarnations that an identity source may name', () => {
  const vmId = '4ddbd7f2-6a1d-4c2b-9d3e-0123456789ab';
  const swapped = 'f2d7db4d-1d6a-2b4c-9d3e-0123456789ab';
  const read = (source: IdentitySource['source'], value: string) => immutableIdsOf({ source, driver: null, value });

  it('are both byte orders of a system UUID, in upper or lower case', () => {
    expect(read('systemUUID', vmId)).toEqual([vmId, swapped]);
    expect(read('systemUUID', swapped.toUpperCase())).toEqual([swapped, vmId]);
    expect(read('systemUUID', '00000000-0000-0000-0000-000000000000')).toHaveLength(1);
  });

  it('are one for an annotation, and none for a value that is not a vmId', () => {
    expect(read('instanceIdAnnotation', vmId.toUpperCase())).toEqual([vmId]);
    for (const value of [
      '7183746512345678901',
      `${vmId}0`,
      `0${vmId}`,
      vmId.slice(0, -1),
      vmId.slice(1),
      vmId.replace('-6a1d', ''),
      vmId.replace('6a1d', '6a1'),
      vmId.replaceAll('a', 'g'),
      vmId.replaceAll('-', '+'),
      '',
    ])
      expect(read('systemUUID', value)).toEqual([]);
    for (const source of ['providerID', 'csiNode', 'nodeIdAnnotation', 'volumeAttachment'] as const)
      expect(read(source, vmId)).toEqual([]);
  });
});

describe('the disk behind a volume handle', () => {
  it.each([
    [DRIVER, disk, disk.toLowerCase()],
    [DRIVER, disk.toUpperCase(), disk.toLowerCase()],
    [DRIVER, `${compute}/snapshots/s`, null],
    [DRIVER, 'https://account.blob.core.windows.net/vhds/pvc-1.vhd', null],
    ['file.csi.azure.com', disk, null],
  ])('%s %s is %s', (driver, handle, expected) => {
    expect(diskOf({ driver, handle })).toBe(expected);
  });
});

it('the clusters of a machine are read from the tags of AKS and of Cluster API, once each', () => {
  const capi = 'sigs.k8s.io_cluster-api-provider-azure_cluster_';
  expect(
    clusterNamesFromTags({
      'aks-managed-cluster-name': 'blue',
      [`${capi}Green`]: 'owned',
      [`${capi}grey`]: 'shared',
      [capi]: 'owned',
      name: 'red',
    }),
  ).toEqual(['blue', 'Green']);
  expect(clusterNamesFromTags({ 'AKS-Managed-Cluster-Name': '' })).toEqual([]);
});

describe('an account or region that is not served', () => {
  const machine = (subscription: string) =>
    `azure:///subscriptions/${subscription}/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/vm`;
  it('is another subscription in a providerID, in upper or lower case', () => {
    expect(unservedScope({ source: 'providerID', driver: null, value: machine('Other') }, 'OURS')).toEqual({
      scope: 'subscription other',
      remedy: expect.stringContaining('AZURE_SUBSCRIPTION_ID=other'),
    });
    expect(unservedScope({ source: 'providerID', driver: null, value: machine('ours') }, 'OURS')).toBeNull();
    expect(unservedScope({ source: 'systemUUID', driver: null, value: machine('other') }, 'ours')).toBeNull();
    expect(
      unservedScope({ source: 'providerID', driver: null, value: 'aws:///eu-west-1a/i-abcd1111' }, 'ours'),
    ).toBeNull();
  });
});
