import type { CloudName, Machine } from './machines.ts';

/** How each cloud and its CSI driver name machines and disks. */

export const ZONES: Readonly<Record<CloudName, string>> = {
  aws: 'eu-west-1a',
  azure: 'westeurope-1',
  gcp: 'europe-west1-b',
};

export const SUBSCRIPTION = '00000000-0000-0000-0000-000000000001';
export const GROUP = 'g';
const COMPUTE = `/subscriptions/${SUBSCRIPTION}/resourcegroups/${GROUP}/providers/microsoft.compute`;
export const PROJECT = 'p';
const PLACE = `projects/${PROJECT}/zones/${ZONES.gcp}`;

const hex = (serial: number, length: number): string => serial.toString(16).padStart(length, '0');

/** The id by which fencing knows a machine. On EC2, no id is used again. */
export const machineIdOf = (cloud: CloudName, name: string, serial: number): string => {
  switch (cloud) {
    case 'aws':
      return `i-${hex(serial, 17)}`;
    case 'azure':
      return `${COMPUTE}/virtualmachines/${name}`;
    case 'gcp':
      return `${PLACE}/instances/${name}`;
  }
};

export const diskIdOf = (cloud: CloudName, number: number): string => {
  switch (cloud) {
    case 'aws':
      return `vol-${hex(number, 17)}`;
    case 'azure':
      return `${COMPUTE}/disks/disk-${number}`;
    case 'gcp':
      return `${PLACE}/disks/disk-${number}`;
  }
};

/** The end of a disk's id, which no other disk has. The name of a Kubernetes object contains no slash. */
export const objectNameOf = (disk: string): string => disk.slice(disk.lastIndexOf('/') + 1);

/** The name of the disk's PersistentVolume. */
export const volumeNameOf = (disk: string): string => `pv-${objectNameOf(disk)}`;

export const osDiskIdOf = (serial: number): string => `${COMPUTE}/disks/os-${serial}`;
/** No data disk has such a number. */
export const rootVolumeIdOf = ({ serial }: Pick<Machine, 'serial'>): string => diskIdOf('aws', 0xf0000000 + serial);
export const vmIdOf = ({ serial }: Pick<Machine, 'serial'>): string => `11111111-2222-4333-8444-${hex(serial, 12)}`;
export const numericIdOf = ({ serial }: Pick<Machine, 'serial'>): string => String(1_000_000_000_000_000 + serial);

/** Whether this is the immutable id of the machine. EC2 needs none, because it uses no id again. */
export const isIncarnation = (machine: Machine, id: string | null): boolean =>
  id === null || id === vmIdOf(machine) || id === numericIdOf(machine);

const DRIVERS: Readonly<Record<CloudName, string>> = {
  aws: 'ebs.csi.aws.com',
  azure: 'disk.csi.azure.com',
  gcp: 'pd.csi.storage.gke.io',
};

export const driverOf = (cloud: CloudName): string => DRIVERS[cloud];

/** The id under which the cloud's CSI driver knows a machine. Azure's driver uses the Node's name. */
export const nodeIdOf = ({ cloud, id, node }: Machine): string => (cloud === 'azure' ? node : id);

export const providerIdOf = ({ cloud, id, zone, node }: Machine): string => {
  switch (cloud) {
    case 'aws':
      return `aws:///${zone}/${id}`;
    case 'azure':
      return `azure://${id}`;
    case 'gcp':
      return `gce://${PROJECT}/${zone}/${node}`;
  }
};

export const systemUuidOf = (machine: Machine): string => (machine.cloud === 'azure' ? vmIdOf(machine) : '');
