import { EBS, type AwsWorld } from '../aws-sandbox.ts';
import { addNode, addStatefulSet } from '../cluster/fixtures.ts';
import { settle } from '../cluster/settle.ts';
import { addInstance, addVolume } from '../ec2/scenario.ts';
import { instanceIn, volumeIn } from '../ec2/state.ts';

/**
 * A database with one disk, on one of two nodes in the same zone: the smallest cluster in which a dead machine matters.
 */
export interface DatabaseScene {
  /** The disk, and the instance that holds it now. */
  readonly volume: string;
  readonly holder: string;
  readonly spare: string;
  readonly nodeOf: (instance: string) => string;
}

export { addNewPod, DATABASE_POD, NEW_POD } from './database-pods.ts';

/** Adds a machine with a Node that has the name that EC2 assigns. */
export const addMachine = (world: AwsWorld): string => {
  const machine = addInstance(world);
  const { privateDnsName = '', zone = '' } = instanceIn(world, machine) ?? {};
  addNode(world, { name: privateDnsName, machine, providerID: `aws:///${zone}/${machine}`, zone, driver: EBS });
  return machine;
};

export const databaseOnTwoNodes = (world: AwsWorld): DatabaseScene => {
  const machines = [addMachine(world), addMachine(world)];
  const names = new Map(machines.map((machine) => [machine, instanceIn(world, machine)?.privateDnsName ?? '']));
  const volume = addVolume(world);
  addStatefulSet(world, {
    name: 'db',
    disks: [{ driver: EBS, handle: volume, zone: volumeIn(world, volume)?.zone ?? '' }],
  });
  settle(world);
  const holder = volumeIn(world, volume)?.attachments[0]?.instance ?? '';
  return {
    volume,
    holder,
    spare: machines.find((machine) => machine !== holder) ?? '',
    nodeOf: (instance) => names.get(instance) ?? '',
  };
};
