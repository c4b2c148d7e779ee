import type { Cloud, UnservedScope } from '../../fencing/model/cloud.ts';
import {
  CloudfenceError,
  Refused,
  PermissionDenied,
  InvalidConfiguration,
  Unavailable,
} from '../../fencing/model/errors.ts';
import type { DiskId, IdentitySource, MachineFacts, MachineId, Witness } from '../../fencing/model/machine.ts';
import { fromTemporaryCredentials } from '@aws-sdk/credential-providers';
import { type ClientOptions, ec2Clients, type Ec2Clients, timeouts } from './client.ts';
import { toCloudfenceError } from './errors.ts';
import { awsCloud } from './index.ts';
import type { TerritoryEntry } from '../plugin.ts';

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

interface OpenTerritory extends Territory {
  readonly region: string;
  readonly clients: Ec2Clients;
}

/** The account and region of this install. The account is null if it is not known. */
interface HomeTerritory {
  readonly account: string | null;
  readonly region: string;
}

export const territoryName = ({ account, region }: HomeTerritory): string =>
  account === null ? region : `${account} ${region}`;

const faultOf = (entry: TerritoryEntry, home: HomeTerritory): string | null => {
  const ownAccount = home.account === null ? entry.role === undefined : entry.account === home.account;
  if (ownAccount && entry.region === home.region)
    return 'is the account and region of this install itself: remove the entry';
  const roleless = entry.role === undefined && !ownAccount;
  return roleless
    ? `is not in account ${home.account} of this install: add a \`role\` in that account to assume`
    : null;
};

/**
 * Checks the settings that depend on the account and region of this install.
 *
 * @throws InvalidConfiguration with all faults together
 */
const refuseFaults = (entries: readonly TerritoryEntry[], home: HomeTerritory): void => {
  const faults = entries.flatMap((entry, at) => {
    const fault = faultOf(entry, home);
    return fault === null ? [] : [`territories.${at}: ${territoryName(entry)} ${fault}`];
  });
  if (faults.length > 0) throw new InvalidConfiguration(faults);
};

const openTerritory = (
  { role, externalId, endpoint, ...territory }: TerritoryEntry,
  sts: StsOptions,
): OpenTerritory => {
  const credentials =
    role === undefined ? sts.credentials : roleCredentials({ arn: role, externalId: externalId ?? null }, sts);
  const clients = ec2Clients({
    region: territory.region,
    ...(credentials && { credentials }),
    ...(endpoint !== undefined && { endpoint }),
  });
  return {
    name: territoryName(territory),
    region: territory.region,
    clients,
    cloud: awsCloud({ clients, region: territory.region }),
  };
};

/**
 * Opens the territories without making a call. `sts` is the STS endpoint of the install's own region, which its network
 * can reach. It issues the credentials of the roles.
 */
export const openTerritories = (
  entries: readonly TerritoryEntry[],
  home: HomeTerritory,
  sts: StsOptions,
): readonly OpenTerritory[] => {
  refuseFaults(entries, home);
  return entries.map((entry) => openTerritory(entry, sts));
};

export interface RoleToAssume {
  readonly arn: string;
  readonly externalId: string | null;
}

/** Where to request the credentials of a role, and with which credentials. */
type StsOptions = Pick<ClientOptions, 'endpoint' | 'credentials' | 'region'>;

/** Appears in the CloudTrail of the role's account. */
const SESSION = 'cloudfence';

/**
 * If the role is refused, everything that needs the role is denied. If the service did not answer, a retry may succeed.
 */
const notAssumed = (caught: unknown, { arn }: RoleToAssume): CloudfenceError => {
  const error = toCloudfenceError(caught, 'sts:AssumeRole');
  const words = `Cloudfence cannot assume the role ${arn}: ${error.message}`;
  return error instanceof Unavailable
    ? new Unavailable(words, { cause: caught })
    : new PermissionDenied(words, { cause: caught });
};

/**
 * Returns a provider of a role's credentials. The client caches the credentials until five minutes before they expire.
 * A role that assumes another role gets at most one hour, which is also the default of STS.
 * https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
 *
 * @throws PermissionDenied, Unavailable
 */
export const roleCredentials = (role: RoleToAssume, { credentials, ...sts }: StsOptions) => {
  const assume = fromTemporaryCredentials({
    params: {
      RoleArn: role.arn,
      RoleSessionName: SESSION,
      ...(role.externalId !== null && { ExternalId: role.externalId }),
    },
    clientConfig: { ...sts, requestHandler: timeouts, maxAttempts: 3 },
    ...(credentials && { masterCredentials: credentials }),
  });
  return async (): ReturnType<typeof assume> => {
    try {
      return await assume();
    } catch (caught) {
      throw notAssumed(caught, role);
    }
  };
};
