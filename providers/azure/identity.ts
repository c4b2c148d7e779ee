import type { UnservedScope } from '../../fencing/model/cloud.ts';
import type { DiskId, IdentitySource, MachineId, VolumeHandle } from '../../fencing/model/machine.ts';

/**
 * ARM resource ids. ARM, events, and Nodes write the same id in different letter cases, so every id here is in lower
 * case. https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
 */

interface ResourceScope {
  readonly id: string;
  readonly subscription: string;
  readonly group: string;
}

/**
 * A standalone virtual machine, which includes the members of flexible scale sets, or an instance of a uniform scale
 * set.
 */
export type MachinePath = ResourceScope &
  (
    | { readonly kind: 'vm'; readonly name: string }
    | { readonly kind: 'instance'; readonly set: string; readonly instance: string }
  );

export interface DiskPath extends ResourceScope {
  readonly name: string;
}

export interface ScaleSetPath extends ResourceScope {
  readonly set: string;
}

/**
 * A resource name never ends with a dot, and no name has more than 90 characters. The pattern rejects `..` and
 * characters of a URL, because they would lead to another path. It also rejects lone surrogates, because no URL can
 * contain them.
 */
const NAME = String.raw`([^/\\?#%\s\p{Cs}]{0,127}[^/\\?#%\s\p{Cs}.])`;
const COMPUTE = String.raw`^/subscriptions/${NAME}/resourcegroups/${NAME}/providers/microsoft\.compute`;
const VM = new RegExp(`${COMPUTE}/virtualmachines/${NAME}$`, 'u');
const INSTANCE = new RegExp(`${COMPUTE}/virtualmachinescalesets/${NAME}/virtualmachines/${NAME}$`, 'u');
const SET = new RegExp(`${COMPUTE}/virtualmachinescalesets/${NAME}$`, 'u');
const DISK = new RegExp(`${COMPUTE}/disks/${NAME}$`, 'u');

/** Returns the number of an instance. Disks name an instance `<set>_<n>`. All other sources use only the number. */
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

/** Returns the machine that an ARM id names, in any letter case, or null. */
export const machinePath = (text: string): MachinePath | null => {
  const id = text.toLowerCase();
  const [, subscription, group, name] = VM.exec(id) ?? [];
  if (subscription !== undefined && group !== undefined && name !== undefined)
    return { kind: 'vm', id, subscription, group, name };
  const [, owner, groupOfSet, set, instance] = INSTANCE.exec(id) ?? [];
  return owner !== undefined && groupOfSet !== undefined && set !== undefined && instance !== undefined
    ? instancePath(owner, groupOfSet, set, instance)
    : null;
};

export const diskPath = (text: string): DiskPath | null => {
  const id = text.toLowerCase();
  const [, subscription, group, name] = DISK.exec(id) ?? [];
  return subscription === undefined || group === undefined || name === undefined
    ? null
    : { id, subscription, group, name };
};

export const scaleSetPath = (text: string): ScaleSetPath | null => {
  const id = text.toLowerCase();
  const [, subscription, group, set] = SET.exec(id) ?? [];
  return subscription === undefined || group === undefined || set === undefined
    ? null
    : { id, subscription, group, set };
};

/** Returns the id of the virtual machine with that name in the same subscription and group. */
export const machineInSameGroup = ({ subscription, group }: ResourceScope, name: string): MachineId =>
  `${computeId(subscription, group)}/virtualmachines/${name.toLowerCase()}`;

/**
 * Returns the virtual machine that the id of a flexible scale set's member names, or null. A number is an instance of a
 * uniform set.
 */
export const flexibleSetMember = (text: string): MachinePath | null => {
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

/** Returns the id of an instance of a uniform scale set in the same subscription and group. */
const setInstanceId = ({ subscription, group }: ResourceScope, set: string, instance: number): MachineId =>
  `${computeId(subscription, group)}/virtualmachinescalesets/${set.toLowerCase()}/virtualmachines/${instance}`;

/** Returns whether the holder that a disk names is that machine. */
export const isMachine = (holder: string, machine: MachineId): boolean => machinePath(holder)?.id === machine;

const nameIn = (path: MachinePath): string => (path.kind === 'vm' ? path.name : `${path.set}/${path.instance}`);

/**
 * Returns whether the holder has the name of the machine, in any resource group or subscription. It may be the machine
 * itself: a machine that is moved to another group keeps running and keeps its name, but its id changes.
 * https://learn.microsoft.com/azure/azure-resource-manager/management/move-resource-group-and-subscription
 */
export const isNamesake = (holder: string, machine: MachineId): boolean => {
  const [path, wanted] = [machinePath(holder), machinePath(machine)];
  return path !== null && wanted !== null && nameIn(path) === nameIn(wanted);
};

export const isSameDisk = (one: string | undefined, disk: DiskId): boolean => one?.toLowerCase() === disk;

/** `azure:///subscriptions/…`, or the bare id. https://github.com/kubernetes-sigs/cloud-provider-azure */
const PREFIX = /^azure:\/\//i;

/**
 * Returns the machine that an identity source names. Only the providerID names one. Azure's CSI drivers write the
 * Node's own name, which does not identify a machine.
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
 * Reverses the bytes in each of the first three groups. Older SMBIOS versions report the UUID to the guest in this
 * form. https://github.com/Azure/WALinuxAgent/issues/830
 */
const swapped = (uuid: string): string =>
  uuid
    .split('-')
    .map((group, index) => (index < 3 ? Buffer.from(group, 'hex').reverse().toString('hex') : group))
    .join('-');

/**
 * Returns the possible vmIds. A guest sees its vmId as its system UUID, in one of two byte orders that cannot be
 * distinguished.
 */
export const immutableIdsOf = ({ source, value }: IdentitySource): readonly string[] => {
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

/** Returns the subscription of a Node's machine if it is not the served one. A providerID contains the subscription. */
export const unservedScope = ({ source, value }: IdentitySource, served: string): UnservedScope | null => {
  const subscription = source === 'providerID' ? machinePath(value.replace(PREFIX, ''))?.subscription : undefined;
  if (subscription === undefined || subscription === served.toLowerCase()) return null;
  return {
    scope: `subscription ${subscription}`,
    remedy: `install Cloudfence for that subscription, with AZURE_SUBSCRIPTION_ID=${subscription}`,
  };
};

const AZURE_DISK_DRIVER = 'disk.csi.azure.com';

const diskPathOf = ({ driver, handle }: VolumeHandle): DiskPath | null =>
  driver === AZURE_DISK_DRIVER ? diskPath(handle) : null;

/**
 * Returns the managed disk behind a CSI volume. Returns null for volumes of other drivers and for unmanaged disks,
 * because they cannot be detached.
 */
export const diskOf = (volume: VolumeHandle): DiskId | null => diskPathOf(volume)?.id ?? null;

/**
 * The cloud provider names Nodes after the computer name, in lower case. The computer name of a virtual machine is
 * usually the name of the machine. The computer name of an instance of a uniform scale set is the name of the set and
 * the number of the instance, in six digits of base 36.
 * https://github.com/kubernetes-sigs/cloud-provider-azure
 */
const DIGITS = 6;
const COMPUTER = new RegExp(`^(.+)([0-9a-z]{${DIGITS}})$`);

const nodeNameOf = (path: MachinePath): string =>
  path.kind === 'vm' ? path.name : `${path.set}${Number(path.instance).toString(36).padStart(DIGITS, '0')}`;

/** Returns the likeliest Node name of a machine that ARM no longer knows. */
export const candidateNodeNames = (machine: MachineId): readonly string[] => {
  const path = machinePath(machine);
  return path ? [nodeNameOf(path)] : [];
};

/**
 * Returns the machines that a Node name and a volume suggest. Volumes are created in the group of their machines unless
 * the storage class sets another one.
 */
export const machinesNamed = (node: string, volume: VolumeHandle): readonly MachineId[] => {
  const beside = diskPathOf(volume);
  if (!beside) return [];
  const [, set, digits] = COMPUTER.exec(node) ?? [];
  const instance =
    set === undefined || digits === undefined ? [] : [setInstanceId(beside, set, Number.parseInt(digits, 36))];
  return [...instance, machineInSameGroup(beside, node)];
};

/** The tags of AKS and of Cluster API for Azure (value `owned`). */
const AKS_NAME = 'aks-managed-cluster-name';
const CLUSTER_API = 'sigs.k8s.io_cluster-api-provider-azure_cluster_';

/**
 * Returns the names of the clusters in a machine's tags. Azure keeps the letter case of tag names but ignores it in
 * comparisons.
 */
export const clusterNamesFromTags = (tags: Readonly<Record<string, string>>): readonly string[] => [
  ...new Set(Object.entries(tags).flatMap(clusterIn)),
];

const clusterIn = ([key, value]: readonly [string, string]): readonly string[] => {
  const name = key.toLowerCase();
  if (name === AKS_NAME) return value === '' ? [] : [value];
  return name.startsWith(CLUSTER_API) && name !== CLUSTER_API && value === 'owned'
    ? [key.slice(CLUSTER_API.length)]
    : [];
};
