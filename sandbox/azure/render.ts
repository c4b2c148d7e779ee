import type { Attachment, AzureCloudWorld, Disk, Machine } from './state.ts';
import { attachmentTo, machineIn } from './state.ts';

/** Azure's objects as JSON. https://learn.microsoft.com/rest/api/compute/ */

export interface Json {
  readonly [name: string]: string | number | boolean | Json | readonly (string | Json)[];
}

const time = (moment: number): string => new Date(moment).toISOString().replace('Z', '0000+00:00');

const titled = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** Codes are in lower case. The display status of the provisioning is in title case. */
const statusesOf = ({ power, provisioning, provisionedAt }: Machine): readonly Json[] => [
  {
    code: `ProvisioningState/${provisioning.toLowerCase()}`,
    level: 'Info',
    displayStatus: titled(provisioning),
    ...(provisioning === 'Succeeded' && { time: time(provisionedAt) }),
  },
  ...(power === null ? [] : [{ code: `PowerState/${power}`, level: 'Info', displayStatus: `VM ${power}` }]),
];

const hibernationOf = ({ guest, power }: Machine): readonly Json[] =>
  guest === 'frozen' && power === 'deallocated'
    ? [{ code: 'HibernationState/Hibernated', level: 'Info', displayStatus: 'VM hibernated' }]
    : [];

const dataDiskOf = (disk: Disk, { lun, state }: Attachment): Json => ({
  lun,
  name: disk.name,
  createOption: 'Attach',
  managedDisk: { id: disk.armId },
  toBeDetached: state === 'detaching',
});

const storageOf = (machine: Machine, disks: readonly Disk[]): Json => {
  const os = disks.find((disk) => disk.os);
  const data = disks.filter((disk) => !disk.os).map((disk) => [disk, attachmentTo(disk, machine.id)] as const);
  return {
    ...(os && { osDisk: { osType: 'Linux', name: os.name, createOption: 'FromImage', managedDisk: { id: os.armId } } }),
    dataDisks: data.flatMap(([disk, attachment]) => (attachment ? [dataDiskOf(disk, attachment)] : [])),
  };
};

export const machineJson = (machine: Machine, disks: readonly Disk[], location: string, withView: boolean): Json => ({
  name: machine.name,
  id: machine.armId,
  type: machine.set ? 'Microsoft.Compute/virtualMachineScaleSets/virtualMachines' : 'Microsoft.Compute/virtualMachines',
  location,
  zones: [machine.zone],
  tags: { ...machine.tags },
  ...(machine.set && { instanceId: machine.set.instance }),
  properties: {
    vmId: machine.vmId,
    timeCreated: time(machine.made),
    provisioningState: machine.provisioning,
    storageProfile: storageOf(machine, disks),
    osProfile: { computerName: machine.computerName },
    ...(machine.canHibernate && { additionalCapabilities: { hibernationEnabled: true } }),
    ...(withView && {
      instanceView: {
        computerName: machine.computerName,
        statuses: [...statusesOf(machine), ...hibernationOf(machine)],
      },
    }),
  },
});

/** Disks identify an instance of a scale set by its name. Everything else uses its number. */
const holderName = (world: AzureCloudWorld, id: string): string => {
  const machine = machineIn(world, id);
  if (!machine) return id;
  return machine.set ? machine.armId.replace(/[^/]+$/, machine.name) : machine.armId;
};

const diskState = (world: AzureCloudWorld, disk: Disk): string => {
  const [first] = disk.attachments;
  if (!first) return disk.exported ? 'ActiveSAS' : 'Unattached';
  const holder = machineIn(world, first.machine);
  if (holder?.power !== 'deallocated') return 'Attached';
  return holder.guest === 'frozen' ? 'Frozen' : 'Reserved';
};

export const diskJson = (world: AzureCloudWorld, disk: Disk): Json => {
  const holders = disk.attachments.map(({ machine }) => holderName(world, machine));
  return {
    name: disk.name,
    id: disk.armId,
    type: 'Microsoft.Compute/disks',
    location: world.parts.azure.location,
    zones: [disk.zone],
    ...(holders[0] !== undefined && { managedBy: holders[0] }),
    ...(disk.maxShares > 1 && { managedByExtended: holders }),
    properties: {
      diskState: diskState(world, disk),
      provisioningState: 'Succeeded',
      ...(disk.maxShares > 1 && { maxShares: disk.maxShares }),
      ...(disk.os && { osType: 'Linux' }),
      ...(disk.handedOverAt !== null && { LastOwnershipUpdateTime: time(disk.handedOverAt) }),
    },
  };
};
