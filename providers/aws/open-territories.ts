import { InvalidConfiguration } from '../../fencing/errors.ts';
import { assumedRole, type StsOptions } from './assumed-role.ts';
import { ec2Clients, type Ec2Clients } from './client.ts';
import { awsCloud } from './index.ts';
import type { Territory } from './look-in-territories.ts';

/** What the configuration says of another territory; docs/aws.md, "Accounts and regions". */
export interface TerritoryEntry {
  readonly account: string;
  readonly region: string;
  /** ARN of a role of that account. Without one, our own credentials are good there: our own account in another region. */
  readonly role?: string | undefined;
  readonly externalId?: string | undefined;
  /** URL of its EC2 endpoint, for networks and tests in which the usual one is out of reach. */
  readonly endpoint?: string | undefined;
}

export interface OpenTerritory extends Territory {
  readonly region: string;
  readonly clients: Ec2Clients;
}

/** Where we are ourselves; the account is null where nobody has told it. */
export interface HomePlace {
  readonly account: string | null;
  readonly region: string;
}

export const nameOf = ({ account, region }: HomePlace): string => (account === null ? region : `${account} ${region}`);

const faultOf = (entry: TerritoryEntry, home: HomePlace): string | null => {
  const ownAccount = home.account === null ? entry.role === undefined : entry.account === home.account;
  if (ownAccount && entry.region === home.region) return 'is where this install is itself: leave it out';
  const roleless = entry.role === undefined && !ownAccount;
  return roleless ? `is not our own account ${home.account}: name a \`role\` of it to assume` : null;
};

/** @throws InvalidConfiguration with all faults at once: what only shows once our own account and region are known */
const refuseFaults = (entries: readonly TerritoryEntry[], home: HomePlace): void => {
  const faults = entries.flatMap((entry, at) => {
    const fault = faultOf(entry, home);
    return fault === null ? [] : [`territories.${at}: ${nameOf(entry)} ${fault}`];
  });
  if (faults.length > 0) throw new InvalidConfiguration(faults);
};

const openTerritory = ({ role, externalId, endpoint, ...place }: TerritoryEntry, sts: StsOptions): OpenTerritory => {
  const credentials = role === undefined ? sts.credentials : assumedRole({ arn: role, externalId: externalId ?? null }, sts);
  const clients = ec2Clients({ region: place.region, ...(credentials && { credentials }), ...(endpoint !== undefined && { endpoint }) });
  return { name: nameOf(place), region: place.region, clients, cloud: awsCloud({ clients, region: place.region }) };
};

/** `sts` is asked for the roles: the STS of our own region, which our own network reaches. No call is made yet. */
export const openTerritories = (entries: readonly TerritoryEntry[], home: HomePlace, sts: StsOptions): readonly OpenTerritory[] => {
  refuseFaults(entries, home);
  return entries.map((entry) => openTerritory(entry, sts));
};
