import type { UnservedPlace } from '../../fencing/model/cloud.ts';
import type { DiskId, IdentitySource, MachineId, VolumeHandle } from '../../fencing/model/machine.ts';

/**
 * ARM resource ids. ARM, events and Nodes spell one and the same id in different letter cases, so everything here is in
 * lower case. https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
 */

interface Place {
  readonly id: string;
  readonly subscription: string;
  readonly group: string;
}

/** A virtual machine of its own, members of flexible scale sets included, or an instance of a uniform scale set. */
export type MachinePath = Place &
  (
    | { readonly kind: 'vm'; readonly name: string }
    | { readonly kind: 'instance'; readonly set: string; readonly instance: string }
  );

export interface DiskPath extends Place {
  readonly name: string;
}

export interface SetPath extends Place {
  readonly set: string;
}

/** No name ends with a dot; `..` would lead elsewhere, and so would a piece of a URL. */
const NAME = String.raw`([^/\\?#%\s]*[^/\\?#%\s.])`;
const COMPUTE = String.raw`^/subscriptions/${NAME}/resourcegroups/${NAME}/providers/microsoft\.compute`;
const VM = new RegExp(`${COMPUTE}/virtualmachines/${NAME}$`);
const INSTANCE = new RegExp(`${COMPUTE}/virtualmachinescalesets/${NAME}/virtualmachines/${NAME}$`);
const SET = new RegExp(`${COMPUTE}/virtualmachinescalesets/${NAME}$`);
const DISK = new RegExp(`${COMPUTE}/disks/${NAME}$`);

/** Disks name an instance by its name, `<set>_<n>`; everything else by its number alone. */
const instanceNumber = (set: string, instance: string): string | null => {
  const bare = instance.startsWith(`${set}_`) ? instance.slice(set.length + 1) : instance;
  return /^\d+$/.test(bare) ? bare : null;
};

const computeId = (subscription: string, group: string): string =>
  `/subscriptions/${subscription}/resourcegroups/${group}/providers/microsoft.compute`;

const instancePath = (subscription: string, group: string, set: string, name: string): MachinePath | null => {
  const instance = instanceNumber(set, name);
  if (instance === null) return null;
  const id = `${computeId(subscription, group)}/virtualmachinescalesets/${set}/virtualmachines/${instance}`;
  return { kind: 'instance', id, subscription, group, set, instance };
};

/** The machine that an ARM id in any letter case names, or null. */
export const machinePath = (text: string): MachinePath | null => {
  const id = text.toLowerCase();
  const [, subscription = '', group = '', name = ''] = VM.exec(id) ?? [];
  if (name !== '') return { kind: 'vm', id, subscription, group, name };
  const [, owner, place, set, instance] = INSTANCE.exec(id) ?? [];
  return owner !== undefined && place !== undefined && set !== undefined && instance !== undefined
    ? instancePath(owner, place, set, instance)
    : null;
};

export const diskPath = (text: string): DiskPath | null => {
  const id = text.toLowerCase();
  const [, subscription = '', group = '', name = ''] = DISK.exec(id) ?? [];
  return name === '' ? null : { id, subscription, group, name };
};

export const setPath = (text: string): SetPath | null => {
  const id = text.toLowerCase();
  const [, subscription = '', group = '', set = ''] = SET.exec(id) ?? [];
  return set === '' ? null : { id, subscription, group, set };
};

/** A virtual machine by its name, in the place of something else. */
export const machineBeside = ({ subscription, group }: Place, name: string): MachineId =>
  `${computeId(subscription, group)}/virtualmachines/${name.toLowerCase()}`;

/**
 * The virtual machine that an id of a flexible scale set's member names, or null: a number is an instance of a uniform
 * set's.
 */
export const flexibleMember = (text: string): MachinePath | null => {
  const [, subscription, group, set, name] = INSTANCE.exec(text.toLowerCase()) ?? [];
  if (
    subscription === undefined ||
    group === undefined ||
    set === undefined ||
    name === undefined ||
    instanceNumber(set, name) !== null
  )
    return null;
  return machinePath(`${computeId(subscription, group)}/virtualmachines/${name}`);
};

/** An instance of a uniform scale set, in the place of something else. */
const instanceBeside = ({ subscription, group }: Place, set: string, instance: number): MachineId =>
  `${computeId(subscription, group)}/virtualmachinescalesets/${set.toLowerCase()}/virtualmachines/${instance}`;

/** True when a disk's word on its holder means that machine. */
export const isMachine = (holder: string, machine: MachineId): boolean => machinePath(holder)?.id === machine;

export const sameDisk = (one: string | undefined, disk: DiskId): boolean => one?.toLowerCase() === disk;

/** `azure:///subscriptions/…`, or the bare id. https://github.com/kubernetes-sigs/cloud-provider-azure */
const PREFIX = /^azure:\/\//i;

/**
 * The machine that an identity source names. Only the providerID does: Azure's CSI drivers write the Node's own name,
 * which says nothing.
 */
export const machineOf = ({ source, value }: IdentitySource): MachineId | null => {
  switch (source) {
    case 'providerID':
      return machinePath(value.replace(PREFIX, ''))?.id ?? null;
    case 'systemUUID':
    case 'instanceIdAnnotation':
    case 'csiNode':
    case 'nodeIdAnnotation':
    case 'volumeAttachment':
      return null;
  }
};

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The first three groups with their bytes the other way round: so older SMBIOS versions give them to the guest.
 * https://github.com/Azure/WALinuxAgent/issues/830
 */
const swapped = (uuid: string): string =>
  uuid
    .split('-')
    .map((group, index) => (index < 3 ? (group.match(/../g) ?? []).toReversed().join('') : group))
    .join('-');

/** A guest knows its vmId as its system UUID, in one of two byte orders that cannot be told apart. */
export const incarnationsOf = ({ source, value }: IdentitySource): readonly string[] => {
  const id = value.toLowerCase();
  if (!UUID.test(id)) return [];
  switch (source) {
    case 'systemUUID':
      return [...new Set([id, swapped(id)])];
    case 'instanceIdAnnotation':
      return [id];
    case 'providerID':
    case 'csiNode':
    case 'nodeIdAnnotation':
    case 'volumeAttachment':
      return [];
  }
};

/** A providerID names the subscription. */
export const unservedPlace = ({ source, value }: IdentitySource, served: string): UnservedPlace | null => {
  const subscription = source === 'providerID' ? machinePath(value.replace(PREFIX, ''))?.subscription : undefined;
  if (subscription === undefined || subscription === served.toLowerCase()) return null;
  return {
    place: `the subscription ${subscription}`,
    remedy: `install Cloudfence for it, with AZURE_SUBSCRIPTION_ID=${subscription}`,
  };
};

const AZURE_DISK_DRIVER = 'disk.csi.azure.com';

/**
 * The managed disk behind a CSI volume, or null: other drivers' volumes and unmanaged disks are none that could be
 * detached.
 */
export const diskOf = ({ driver, handle }: VolumeHandle): DiskId | null =>
  driver === AZURE_DISK_DRIVER ? (diskPath(handle)?.id ?? null) : null;

/**
 * How the cloud provider names Nodes: after the computer, in lower case. That of a virtual machine mostly bears its
 * name, that of an instance of a uniform scale set the set's name and the number of the instance, in six digits of base
 * 36.
 * https://github.com/kubernetes-sigs/cloud-provider-azure
 */
const DIGITS = 6;
const COMPUTER = new RegExp(`^(.+)([0-9a-z]{${DIGITS}})$`);

const nodeNameOf = (path: MachinePath): string =>
  path.kind === 'vm' ? path.name : `${path.set}${Number(path.instance).toString(36).padStart(DIGITS, '0')}`;

/** The likeliest name of a machine that ARM knows no more. */
export const likelyNodeNames = (machine: MachineId): readonly string[] => {
  const path = machinePath(machine);
  return path ? [nodeNameOf(path)] : [];
};

/** Volumes are made in the group of their machines, unless their storage class says otherwise. */
export const machinesNamed = (node: string, volume: VolumeHandle): readonly MachineId[] => {
  const beside = diskPath(diskOf(volume) ?? '');
  if (!beside) return [];
  const [, set, digits] = COMPUTER.exec(node) ?? [];
  const instance =
    set === undefined || digits === undefined ? [] : [instanceBeside(beside, set, Number.parseInt(digits, 36))];
  return [...instance, machineBeside(beside, node)];
};

/** AKS, and Cluster API for Azure (value `owned`). */
const AKS_NAME = 'aks-managed-cluster-name';
const CLUSTER_API = 'sigs.k8s.io_cluster-api-provider-azure_cluster_';

/**
 * Names of the clusters that claim a machine by its tags. Azure keeps the case of tag names and does not tell cases
 * apart.
 */
export const clustersIn = (tags: Readonly<Record<string, string>>): readonly string[] => [
  ...new Set(Object.entries(tags).flatMap(clusterIn)),
];

const clusterIn = ([key, value]: readonly [string, string]): readonly string[] => {
  const name = key.toLowerCase();
  if (name === AKS_NAME) return value === '' ? [] : [value];
  return name.startsWith(CLUSTER_API) && name !== CLUSTER_API && value === 'owned'
    ? [key.slice(CLUSTER_API.length)]
    : [];
};
