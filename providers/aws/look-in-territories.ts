import type { Cloud } from '../../fencing/cloud.ts';
import { CloudfenceError } from '../../fencing/errors.ts';
import type { MachineFacts, MachineId } from '../../fencing/machine.ts';

/** One region of one account, with the credentials to ask it. */
export interface Territory {
  /** For people, such as `222233334444 eu-central-1`. */
  readonly name: string;
  readonly cloud: Cloud;
}

export interface Territories {
  readonly home: Territory;
  readonly others: readonly Territory[];
  /** Where each machine was seen last: it never moves, so there it is asked for first. */
  readonly owners: Map<MachineId, Territory>;
}

type Look = (territory: Territory, machines: readonly MachineId[]) => Promise<readonly MachineFacts[]>;

/** What a territory said of one machine. */
interface Said {
  readonly territory: Territory;
  readonly facts: MachineFacts;
}

/** Not known there: another territory may know it. Left out of an answer is less than missing, and no more than a reason to ask on. */
const isNotSeen = ({ facts }: Said): boolean => facts.power === 'missing' || facts.power === 'unknown';

const saidBy = async (territory: Territory, machines: readonly MachineId[], look: Look): Promise<readonly Said[]> =>
  machines.length === 0 ? [] : (await look(territory, machines)).map((facts) => ({ territory, facts }));

const seen = ({ territory, facts }: Said, { home, owners }: Territories): MachineFacts => {
  owners.set(facts.machine, territory);
  return territory === home ? facts : { ...facts, evidence: { ...facts.evidence, territory: territory.name } };
};

/** Missing is what all of them call missing; whatever a disk says of the machine is kept. */
const notSeen = (said: readonly Said[], first: Said, { owners }: Territories): MachineFacts => {
  owners.delete(first.facts.machine);
  const { facts } = said.find(({ facts: { power } }) => power !== 'missing') ?? first;
  const evidence = { ...facts.evidence, territories: said.map(({ territory }) => territory.name).join(', ') };
  return { ...facts, disks: said.flatMap(({ facts: { disks } }) => disks), evidence };
};

type Answer = { readonly said: readonly Said[]; readonly silent: null } | { readonly said: readonly []; readonly silent: CloudfenceError };

const answerOf = async (territory: Territory, machines: readonly MachineId[], look: Look): Promise<Answer> => {
  try {
    return { said: await saidBy(territory, machines, look), silent: null };
  } catch (error) {
    if (error instanceof CloudfenceError) return { said: [], silent: error };
    throw error;
  }
};

/** Asks each territory for what it has not been asked for yet. A machine that one of them knows does not wait for the others' answers. */
const searched = async (lost: readonly Said[], territories: Territories, look: Look): Promise<readonly MachineFacts[]> => {
  const all = [territories.home, ...territories.others];
  const notAsked = (one: Territory) => lost.filter(({ territory }) => territory !== one).map(({ facts }) => facts.machine);
  const answers = await Promise.all(all.map((one) => answerOf(one, notAsked(one), look)));
  return lost.map((first) => {
    const said = [first, ...answers.flatMap((answer) => answer.said.filter(({ facts }) => facts.machine === first.facts.machine))];
    const found = said.find((one) => !isNotSeen(one));
    if (found) return seen(found, territories);
    const unanswered = answers.find(({ silent }) => silent !== null)?.silent;
    if (unanswered) throw unanswered;
    return notSeen(said, first, territories);
  });
};

/**
 * One live look over all territories: where a machine was seen last, or else at home; and only what is not there, in all
 * the others. A machine is missing when every single one has said so.
 *
 * @throws Unavailable, Denied when a machine is not found and a territory has not answered
 */
export const lookInTerritories = async (machines: readonly MachineId[], territories: Territories, look: Look): Promise<readonly MachineFacts[]> => {
  const byPlace = [...Map.groupBy(new Set(machines), (machine) => territories.owners.get(machine) ?? territories.home)];
  const said = (await Promise.all(byPlace.map(([territory, ids]) => saidBy(territory, ids, look)))).flat();
  const lost = said.filter(isNotSeen);
  const elsewhere = lost.length === 0 ? [] : await searched(lost, territories, look);
  return [...said.filter((one) => !isNotSeen(one)).map((one) => seen(one, territories)), ...elsewhere];
};
