import { put, write } from '../history.ts';
import { change } from './change.ts';
import { settleDisks } from './attachments.ts';
import { SETTLE_MACHINE } from './machines.ts';
import type { Attachment, AzureCloudWorld, Disk, Machine } from './state.ts';
import { disksOf, machineIn, nextSerial } from './state.ts';

/** Changes that tests and demos make to the cloud without its API. */

const uuid = (serial: string): string => `a1b2c3d4-e5f6-4718-8a9b-${serial.padStart(12, '0')}`;

/** ARM writes the names of some groups in capitals. The sandbox does the same. */
const compute = (world: AzureCloudWorld): string =>
  `/subscriptions/${world.parts.azure.subscription}/resourceGroups/` +
  `${world.parts.azure.group.toUpperCase()}/providers/Microsoft.Compute`;

const nextInstance = (world: AzureCloudWorld, set: string): string => {
  const taken = Object.values(world.parts.azure.machines).flatMap(({ present, past }) => [
    present,
    ...past.map(({ was }) => was),
  ]);
  return String(taken.filter((machine) => machine?.set?.name === set).length);
};

const namesFor = (world: AzureCloudWorld, serial: string, wanted: Wanted) => {
  const { set } = wanted;
  if (set === undefined) {
    const name = wanted.name ?? `Vm-${serial}`;
    return { name, set: null, armId: `${compute(world)}/virtualMachines/${name}`, computerName: name.toLowerCase() };
  }
  const instance = nextInstance(world, set);
  const armId = `${compute(world)}/virtualMachineScaleSets/${set}/virtualMachines/${instance}`;
  return {
    name: `${set}_${instance}`,
    set: { name: set, instance },
    armId,
    computerName: `${set.toLowerCase()}${Number(instance).toString(36).padStart(6, '0')}`,
  };
};

/** The properties of a new machine; `set` names its uniform scale set. */
export interface Wanted extends Partial<Omit<Machine, 'set' | 'id' | 'armId'>> {
  readonly set?: string;
}

/** Adds a machine with its OS disk, as if it had always existed. It runs by default. Returns its id. */
export const addMachine = (world: AzureCloudWorld, { set, ...wanted }: Wanted = {}): string => {
  const { azure } = world.parts;
  const serial = nextSerial(azure);
  const names = namesFor(world, serial, { ...wanted, ...(set !== undefined && { set }) });
  if (set !== undefined && !azure.sets.includes(set)) azure.sets.push(set);
  const machine: Machine = {
    ...names,
    id: names.armId.toLowerCase(),
    vmId: uuid(serial),
    made: world.now(),
    zone: '1',
    tags: {},
    power: 'running',
    provisioning: 'Succeeded',
    provisionedAt: world.now(),
    canHibernate: false,
    hibernating: false,
    operation: null,
    shutdownTakes: azure.knobs.shutdownTakes,
    guest: wanted.power === undefined || wanted.power === 'running' ? 'up' : 'down',
    boot: 1,
    mounts: [],
    ...wanted,
  };
  put(azure.machines, machine.id, machine);
  addDisk(world, { os: true, zone: machine.zone }, { machine: machine.id, lun: -1 });
  return machine.id;
};

/** Adds a disk, as if it had always existed, and attaches it if requested. Returns its id. */
export const addDisk = (
  world: AzureCloudWorld,
  wanted: Partial<Omit<Disk, 'id' | 'armId'>> = {},
  attached?: Partial<Attachment> & Pick<Attachment, 'machine'>,
): string => {
  const { azure } = world.parts;
  const name = wanted.name ?? `pvc-${nextSerial(azure).padStart(4, '0')}`;
  const armId = `${compute(world)}/disks/${name}`;
  const lun = disksOf(world, attached?.machine ?? '').length - 1;
  const attachment: Attachment = { machine: '', lun, state: 'attached', forced: false, ...attached };
  const disk: Disk = {
    id: armId.toLowerCase(),
    armId,
    name,
    os: false,
    zone: '1',
    maxShares: 1,
    handedOverAt: world.now(),
    attachments: attached ? [attachment] : [],
    ...wanted,
  };
  put(azure.disks, disk.id, disk);
  return disk.id;
};

const known = (world: AzureCloudWorld, id: string): Machine => {
  const machine = machineIn(world, id);
  if (!machine) throw new Error(`the sandbox has no machine ${id}`);
  return machine;
};

/** Runs `poweroff` in the machine. ARM has no operation and no event for it. The host stays allocated. */
export const stopGuest = (world: AzureCloudWorld, id: string): void => {
  const machine = known(world, id);
  if (machine.power !== 'running') return;
  change(world, machine, { power: 'stopping' });
  if (machine.shutdownTakes !== null) world.schedule(SETTLE_MACHINE, machine.shutdownTakes, id);
};

/** Stops the guest without Azure noticing, as a kernel panic or `halt` does. */
export const haltGuest = (world: AzureCloudWorld, id: string): void => {
  change(world, known(world, id), { guest: 'down', mounts: [] });
  settleDisks(world, id);
};

/** Sets how long this machine takes to shut down (ms). Null means forever, unless the stop is forced. */
export const shutdownTakes = (world: AzureCloudWorld, id: string, ms: number | null): void => {
  change(world, known(world, id), { shutdownTakes: ms });
};

/** Makes ARM report this state of the machine, whatever the machine does. */
export const showAs = (
  world: AzureCloudWorld,
  id: string,
  shown: Partial<Pick<Machine, 'power' | 'provisioning'>>,
): void => {
  change(world, known(world, id), shown);
};

/** Makes ARM forget the machine immediately. Its disks still name it. */
export const forget = (world: AzureCloudWorld, id: string): void =>
  write(world.parts.azure.machines, id, null, world.now());
