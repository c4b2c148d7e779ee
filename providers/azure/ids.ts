import type { DiskId, MachineId } from '../../fencing/machine.ts';

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
  ({ readonly kind: 'vm'; readonly name: string } | { readonly kind: 'instance'; readonly set: string; readonly instance: string });

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

const computeId = (subscription: string, group: string): string => `/subscriptions/${subscription}/resourcegroups/${group}/providers/microsoft.compute`;

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
  return owner !== undefined && place !== undefined && set !== undefined && instance !== undefined ? instancePath(owner, place, set, instance) : null;
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
export const machineBeside = ({ subscription, group }: Place, name: string): MachineId => `${computeId(subscription, group)}/virtualmachines/${name.toLowerCase()}`;

/** The virtual machine that an id of a flexible scale set's member names, or null: a number is an instance of a uniform set's. */
export const flexibleMember = (text: string): MachinePath | null => {
  const [, subscription, group, set, name] = INSTANCE.exec(text.toLowerCase()) ?? [];
  if (subscription === undefined || group === undefined || set === undefined || name === undefined || instanceNumber(set, name) !== null) return null;
  return machinePath(`${computeId(subscription, group)}/virtualmachines/${name}`);
};

/** An instance of a uniform scale set, in the place of something else. */
export const instanceBeside = ({ subscription, group }: Place, set: string, instance: number): MachineId =>
  `${computeId(subscription, group)}/virtualmachinescalesets/${set.toLowerCase()}/virtualmachines/${instance}`;

/** True when a disk's word on its holder means that machine. */
export const isMachine = (holder: string, machine: MachineId): boolean => machinePath(holder)?.id === machine;

export const sameDisk = (one: string | undefined, disk: DiskId): boolean => one?.toLowerCase() === disk;
