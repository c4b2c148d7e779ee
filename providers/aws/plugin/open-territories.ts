import { fromTemporaryCredentials } from '@aws-sdk/credential-providers';
import {
  type CloudfenceError,
  PermissionDenied,
  InvalidConfiguration,
  Unavailable,
} from '../../../fencing/model/errors.ts';
import type { TerritoryEntry } from '../../plugin.ts';
import { type ClientOptions, ec2Clients, type Ec2Clients, timeouts } from '../client.ts';
import { toCloudfenceError } from '../errors.ts';
import { awsCloud } from '../index.ts';
import type { Territory } from '../territories.ts';

/** Opens the territories of the settings, with the credentials of the roles that Cloudfence assumes there. */

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
