import type { Cloud, UnservedScope } from '../../fencing/model/cloud.ts';
import { CloudfenceError, Refused } from '../../fencing/model/errors.ts';
import type { DiskId, IdentitySource, MachineFacts, MachineId, Witness } from '../../fencing/model/machine.ts';

/** Combines several accounts and regions behind one cloud interface, and asks each about its own machines. */

/**
 * Combines several territories into one cloud. An instance id is unique in all of AWS, and an EBS volume can be
 * attached only within its account and zone. So a machine belongs to the territory that knows it, and a territory may
 * answer for the disks that it knows. https://docs.aws.amazon.com/ebs/latest/userguide/ebs-attaching-volume.html
 */
export const cloudOfTerritories = (home: Territory, others: readonly Territory[]): Cloud => {
  const territories: Territories = { home, others, owners: new Map() };
  const look: Cloud['look'] = (machines, scope, signal) =>
    lookInTerritories(machines, territories, (territory, ids) => territory.cloud.look(ids, scope, signal));
  const owning = async (machine: MachineId, signal: AbortSignal): Promise<Cloud> => {
    if (!territories.owners.has(machine)) await look([machine], { disks: false }, signal);
    return ownerOf(machine, territories);
  };
  return {
    name: home.cloud.name,
    look,
    sharedLookScope: (machine) => territories.owners.get(machine)?.name ?? null,
    witness: (machine, disks, signal) => witnessIn(territories, machine, disks, signal),
    detach: async (from, disk, mode, permit, signal) =>
      (await owning(from.machine, signal)).detach(from, disk, mode, permit, signal),
    powerOff: async (target, permit, signal) => (await owning(target.machine, signal)).powerOff(target, permit, signal),
    machineOf: home.cloud.machineOf,
    immutableIdsOf: home.cloud.immutableIdsOf,
    unservedScope: (source) => unservedByAll([home, ...others], source),
    diskOf: home.cloud.diskOf,
  };
};

/** A location is served if at least one territory serves it. */
const unservedByAll = (all: readonly Territory[], source: IdentitySource): UnservedScope | null => {
  const [first = null, ...rest] = all.map(({ cloud }) => cloud.unservedScope(source));
  return rest.includes(null) ? null : first;
};

/** Returns the territory that knows the machine. A call goes only to that territory, and never to a guessed one. */
const ownerOf = (machine: MachineId, { home, others, owners }: Territories): Cloud => {
  const owner = owners.get(machine);
  if (owner) return owner.cloud;
  throw new Refused(
    `no territory knows ${machine}: the territories are ${[home, ...others].map(({ name }) => name).join(', ')}`,
  );
};

/**
 * Asks every territory about the disks. Every territory must answer, because a silent one may have the disk that still
 * names the machine. One territory must know all of the disks, because all disks of a machine belong to its account and
 * region.
 */
const witnessIn = async (
  { home, others }: Territories,
  machine: MachineId,
  disks: readonly DiskId[],
  signal: AbortSignal,
): Promise<Witness> => {
  const answers = await Promise.all([home, ...others].map(({ cloud }) => cloud.witness(machine, disks, signal)));
  if (answers.includes('held')) return 'held';
  return answers.includes('released') ? 'released' : 'none';
};

/** One region of one account, with the credentials to ask it. */
export interface Territory {
  /** For people, such as `222233334444 eu-central-1`. */
  readonly name: string;
  readonly cloud: Cloud;
}

export interface Territories {
  readonly home: Territory;
  readonly others: readonly Territory[];
  /**
   * The territory in which each machine was last seen. A machine never moves to another territory, so Cloudfence asks
   * that one first.
   */
  readonly owners: Map<MachineId, Territory>;
}

type Look = (territory: Territory, machines: readonly MachineId[]) => Promise<readonly MachineFacts[]>;

/** A territory's answer about one machine. */
interface TerritoryAnswer {
  readonly territory: Territory;
  readonly facts: MachineFacts;
}

/**
 * Returns whether this territory does not know the machine, so that another one may. If the answer omits a machine,
 * that proves less than `missing`. It is only a reason to ask the other territories.
 */
const isNotSeen = ({ facts }: TerritoryAnswer): boolean => facts.power === 'missing' || facts.power === 'unknown';

const askTerritory = async (
  territory: Territory,
  machines: readonly MachineId[],
  look: Look,
): Promise<readonly TerritoryAnswer[]> =>
  machines.length === 0 ? [] : (await look(territory, machines)).map((facts) => ({ territory, facts }));

const rememberOwner = ({ territory, facts }: TerritoryAnswer, { home, owners }: Territories): MachineFacts => {
  owners.set(facts.machine, territory);
  return territory === home ? facts : { ...facts, evidence: { ...facts.evidence, territory: territory.name } };
};

/**
 * Returns the facts of a machine that no territory has seen. It is missing only if every territory says that it does
 * not exist. The facts contain everything that the disks report about it.
 */
const factsOfUnseen = (
  answers: readonly TerritoryAnswer[],
  first: TerritoryAnswer,
  { owners }: Territories,
): MachineFacts => {
  owners.delete(first.facts.machine);
  const { facts } = answers.find(({ facts: { power } }) => power !== 'missing') ?? first;
  const evidence = { ...facts.evidence, territories: answers.map(({ territory }) => territory.name).join(', ') };
  return { ...facts, disks: answers.flatMap(({ facts: { disks } }) => disks), evidence };
};

type TerritoryResult =
  | { readonly answers: readonly TerritoryAnswer[]; readonly silent: null }
  | { readonly answers: readonly []; readonly silent: CloudfenceError };

const answerOf = async (territory: Territory, machines: readonly MachineId[], look: Look): Promise<TerritoryResult> => {
  try {
    return { answers: await askTerritory(territory, machines, look), silent: null };
  } catch (error) {
    if (error instanceof CloudfenceError) return { answers: [], silent: error };
    throw error;
  }
};

/**
 * Asks each territory about the machines about which it has not been asked yet. Machines that one territory knows do
 * not wait for the answers of the others. If only a silent territory may know a machine, the machine gets the error of
 * that territory, and the next look searches everywhere.
 */
const searched = async (
  lost: readonly TerritoryAnswer[],
  territories: Territories,
  look: Look,
): Promise<readonly (MachineFacts | CloudfenceError)[]> => {
  const all = [territories.home, ...territories.others];
  const notAsked = (one: Territory) =>
    lost.filter(({ territory }) => territory !== one).map(({ facts }) => facts.machine);
  const results = await Promise.all(all.map((one) => answerOf(one, notAsked(one), look)));
  return lost.map((first) => {
    const aboutIt = [
      first,
      ...results.flatMap(({ answers }) => answers.filter(({ facts }) => facts.machine === first.facts.machine)),
    ];
    const found = aboutIt.find((one) => !isNotSeen(one));
    if (found) return rememberOwner(found, territories);
    const unanswered = results.find(({ silent }) => silent !== null)?.silent;
    if (!unanswered) return factsOfUnseen(aboutIt, first, territories);
    territories.owners.delete(first.facts.machine);
    return unanswered;
  });
};

/**
 * Looks once, live, in all territories. First asks the territory in which a machine was last seen, or else the home
 * territory. Asks all others only about machines that are not found there. A machine is missing only if every territory
 * says that it does not exist. If a territory does not answer, leaves out machines that are not found elsewhere.
 *
 * @throws Unavailable, PermissionDenied if no machine is left
 */
export const lookInTerritories = async (
  machines: readonly MachineId[],
  territories: Territories,
  look: Look,
): Promise<readonly MachineFacts[]> => {
  const byTerritory = [
    ...Map.groupBy(new Set(machines), (machine) => territories.owners.get(machine) ?? territories.home),
  ];
  const answers = (await Promise.all(byTerritory.map(([territory, ids]) => askTerritory(territory, ids, look)))).flat();
  const lost = answers.filter(isNotSeen);
  const elsewhere = lost.length === 0 ? [] : await searched(lost, territories, look);
  const here = answers.filter((one) => !isNotSeen(one)).map((one) => rememberOwner(one, territories));
  const facts = [...here, ...elsewhere.flatMap((one) => (one instanceof CloudfenceError ? [] : one))];
  const silent = elsewhere.find((one) => one instanceof CloudfenceError);
  if (silent && facts.length === 0) throw silent;
  return facts;
};
