import type { Cloud, UnservedPlace } from '../../fencing/cloud.ts';
import { Refused } from '../../fencing/errors.ts';
import type { DiskId, IdentityCarrier, MachineId, Witness } from '../../fencing/machine.ts';
import { lookInTerritories, type Territories, type Territory } from './look-in-territories.ts';

/**
 * Several territories as one cloud. An instance id is one machine's in all of AWS, and an EBS volume attaches only within
 * its account and zone: so the territory that knows a machine owns it, and the one that knows a disk may vouch for it.
 * https://docs.aws.amazon.com/ebs/latest/userguide/ebs-attaching-volume.html
 */
export const cloudOfTerritories = (home: Territory, others: readonly Territory[]): Cloud => {
  const territories: Territories = { home, others, owners: new Map() };
  const look: Cloud['look'] = (machines, scope, signal) => lookInTerritories(machines, territories, (territory, ids) => territory.cloud.look(ids, scope, signal));
  const owning = async (machine: MachineId, signal: AbortSignal): Promise<Cloud> => {
    if (!territories.owners.has(machine)) await look([machine], { disks: false }, signal);
    return ownerOf(machine, territories);
  };
  return {
    name: home.cloud.name,
    look,
    witness: (machine, disks, signal) => witnessIn(territories, machine, disks, signal),
    detach: async (from, disk, manner, permit, signal) => (await owning(from.machine, signal)).detach(from, disk, manner, permit, signal),
    powerOff: async (target, permit, signal) => (await owning(target.machine, signal)).powerOff(target, permit, signal),
    machineOf: home.cloud.machineOf,
    incarnationsOf: home.cloud.incarnationsOf,
    unservedPlace: (carrier) => unservedByAll([home, ...others], carrier),
    diskOf: home.cloud.diskOf,
  };
};

/** A place is served where one of them serves it. */
const unservedByAll = (all: readonly Territory[], carrier: IdentityCarrier): UnservedPlace | null => {
  const [first = null, ...rest] = all.map(({ cloud }) => cloud.unservedPlace(carrier));
  return rest.includes(null) ? null : first;
};

/** A verb goes to the territory that knows the machine, and nowhere on a guess. */
const ownerOf = (machine: MachineId, { home, others, owners }: Territories): Cloud => {
  const owner = owners.get(machine);
  if (owner) return owner.cloud;
  throw new Refused(`no territory knows ${machine}: neither ${[home, ...others].map(({ name }) => name).join(' nor ')}`);
};

/**
 * Every territory has to answer: the one that does not may be the one whose disk still names the machine. One of them has to
 * know all of the disks, for those of one machine are all of its own account and region.
 */
const witnessIn = async ({ home, others }: Territories, machine: MachineId, disks: readonly DiskId[], signal: AbortSignal): Promise<Witness> => {
  const said = await Promise.all([home, ...others].map(({ cloud }) => cloud.witness(machine, disks, signal)));
  if (said.includes('held')) return 'held';
  return said.includes('released') ? 'released' : 'none';
};
