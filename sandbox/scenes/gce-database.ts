import { addNode, addStatefulSet } from '../cluster/fixtures.ts';
import { settle } from '../cluster/settle.ts';
import { PERSISTENT_DISK, type WholeGceWorld } from '../gce-sandbox.ts';
import { addDisk, addInstance, zonesOf } from '../gce/scenario.ts';
import { diskIn } from '../gce/state.ts';

/**
 * A database with one disk, on one of two nodes in the same zone: the smallest cluster in which a dead machine matters.
 */
export interface GceDatabaseScene {
  /** The disk, and the instance that holds it now, by their paths. */
  readonly disk: string;
  readonly holder: string;
  readonly spare: string;
}

/** The Node of an instance has the instance's name. */
export const nodeNameOf = (machine: string): string => machine.split('/').at(-1) ?? '';

/** An instance with a Node. */
export const addMachine = (world: WholeGceWorld): string => {
  const machine = addInstance(world);
  const [, project, , zone = '', , name] = machine.split('/');
  addNode(world, {
    name: nodeNameOf(machine),
    machine,
    providerID: `gce://${project}/${zone}/${name}`,
    zone,
    driver: PERSISTENT_DISK,
  });
  return machine;
};

export const gceDatabaseOnTwoNodes = (world: WholeGceWorld): GceDatabaseScene => {
  const machines = [addMachine(world), addMachine(world)];
  const disk = addDisk(world);
  addStatefulSet(world, {
    name: 'db',
    disks: [{ driver: PERSISTENT_DISK, handle: disk, zone: zonesOf(world)[0] ?? '' }],
  });
  settle(world);
  const holder = diskIn(world, disk)?.users[0] ?? '';
  return { disk, holder, spare: machines.find((machine) => machine !== holder) ?? '' };
};
