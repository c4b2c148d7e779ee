import { loadConfig } from '@smithy/core/config';
import { InvalidConfiguration } from '../../../fencing/model/errors.ts';
import type { OpenedCloud, CloudOptions, CloudProbe } from '../../plugin.ts';
import { ec2Clients, type Ec2Clients } from '../client.ts';
import { withCloudfenceErrors, driverFaultOf } from '../errors.ts';
import { readHints } from '../events/read-hints.ts';
import { awsCloud } from '../index.ts';
import { viewDisks, viewDisksOfAll } from '../disks.ts';
import { awsAccess } from './access.ts';
import { destructiveCallChecks, type PermissionScope, probeReads } from './permissions.ts';

const probeOf = (where: string, scope: PermissionScope): CloudProbe => ({
  where,
  ask: async (signal) => {
    await probeReads(scope.clients, scope.region, signal);
    return `ec2:DescribeInstances and ec2:DescribeVolumes work in ${scope.region}`;
  },
  destructiveCalls: (trial, signal) => destructiveCallChecks(trial, scope, signal),
  notTried:
    'EC2: a dry run shows the permission, and not whether EC2 would carry out the call, such as for a volume ' +
    'that AWS manages',
});

const viewDisksOver =
  ({ reads }: Ec2Clients): OpenedCloud['viewDisks'] =>
  (volumes, signal) =>
    viewDisks(reads, volumes, signal);

/** The SDK reads these variables itself. A drill reports if a stand-in answered instead of EC2. */
const drillOver =
  (served: readonly Ec2Clients[], variable: CloudOptions['variable']): NonNullable<OpenedCloud['drill']> =>
  async () =>
    (await import('../drill.ts')).awsDrill(served, variable('AWS_ENDPOINT_URL_EC2') ?? variable('AWS_ENDPOINT_URL'));

const NO_REGION =
  'no region is set: give --region, set AWS_REGION, or add `region` to the configuration file or to the ' +
  'profile of the AWS CLI';

/** Returns the given region, or the region of the profile. @throws InvalidConfiguration, PermissionDenied */
export const requireRegion = async (given: string | null): Promise<string> => {
  const region = given ?? (await regionOfProfile());
  if (region === null) throw new InvalidConfiguration([NO_REGION]);
  return region;
};

export const openAws = async ({
  region: given,
  account,
  territories,
  tags = null,
  variable = () => null,
  onRequestsSent,
}: Omit<CloudOptions, 'variable'> & Partial<Pick<CloudOptions, 'variable'>>): Promise<OpenedCloud> => {
  const region = await requireRegion(given);
  const clients = ec2Clients({ region, onRequestsSent });
  const cloud = awsCloud({ clients, region });
  const kit = {
    cloud,
    readHints,
    viewDisks: viewDisksOver(clients),
    driverFaultOf,
    drill: drillOver([clients], variable),
    probes: [probeOf(cloud.name, { clients, region, tags })],
    access: awsAccess(region),
  };
  return territories.length === 0
    ? kit
    : withTerritories(kit, territories, { account, region, tags, clients, variable });
};

/** Loads the code for territories only if the install has territories. */
const withTerritories = async (
  kit: OpenedCloud,
  entries: CloudOptions['territories'],
  home: {
    readonly account: string | null;
    readonly region: string;
    readonly tags: PermissionScope['tags'];
    readonly clients: Ec2Clients;
    readonly variable: CloudOptions['variable'];
  },
): Promise<OpenedCloud> => {
  const [{ cloudOfTerritories }, { openTerritories, territoryName }] = await Promise.all([
    import('../territories.ts'),
    import('./open-territories.ts'),
  ]);
  const others = openTerritories(entries, home, { region: home.region });
  const probes = others.map(({ name, clients, region }) =>
    probeOf(`${kit.cloud.name} ${name}`, { clients, region, tags: home.tags }),
  );
  return {
    ...kit,
    cloud: cloudOfTerritories({ name: territoryName(home), cloud: kit.cloud }, others),
    viewDisks: viewDisksOfAll([kit.viewDisks, ...others.map(({ clients }) => viewDisksOver(clients))]),
    drill: drillOver([home.clients, ...others.map(({ clients }) => clients)], home.variable),
    probes: [...kit.probes, ...probes],
  };
};

/**
 * Returns the region of the profile in AWS_PROFILE, or of the default profile, from the files of the AWS CLI. Returns
 * null if the profile has no region. https://docs.aws.amazon.com/sdkref/latest/guide/feature-region.html
 *
 * @throws PermissionDenied if the profile or the files cannot be read
 */
const regionOfProfile = (): Promise<string | null> =>
  withCloudfenceErrors(
    'the AWS profile',
    loadConfig<string | null>(
      { environmentVariableSelector: () => undefined, configFileSelector: ({ region }) => region, default: null },
      { preferredFile: 'credentials' },
    ),
  );
