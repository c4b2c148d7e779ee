import { InvalidConfiguration } from '../fencing/errors.ts';
import { readHints } from '../providers/aws/events/read-hints.ts';
import { awsCloud, ec2Clients, probeReads } from '../providers/aws/index.ts';
import { regionOfProfile } from '../providers/aws/region.ts';
import { parameterText, secretText } from '../providers/aws/secrets.ts';
import { notKept } from './access-by-entry.ts';
import { orderChecks, type OrderPlace } from './orders-aws.ts';
import type { CloudAccess, CloudKit, CloudOptions, CloudProbe } from './cloud-kit.ts';

const probeOf = (where: string, place: OrderPlace): CloudProbe => ({
  where,
  ask: async (signal) => {
    await probeReads(place.clients, place.region, signal);
    return `ec2:DescribeInstances and ec2:DescribeVolumes answer in ${place.region}`;
  },
  orders: (trial, signal) => orderChecks(trial, place, signal),
});

const NO_REGION = 'no region: give --region, set AWS_REGION, or write `region` into the configuration file or the profile of the AWS CLI';

export const openAws = async ({ region: given, account, territories, tags = null }: CloudOptions): Promise<CloudKit> => {
  const region = given ?? (await regionOfProfile());
  if (region === null) throw new InvalidConfiguration([NO_REGION]);
  const clients = ec2Clients({ region });
  const cloud = awsCloud({ clients, region });
  const kit = { cloud, readHints, probes: [probeOf(cloud.name, { clients, region, tags })], access: accessIn(region) };
  return territories.length === 0 ? kit : withTerritories(kit, territories, { account, region, tags });
};

/** Loaded by those only who serve more than one territory. */
const withTerritories = async (kit: CloudKit, entries: CloudOptions['territories'], home: { readonly account: string | null; readonly region: string; readonly tags: OrderPlace['tags'] }): Promise<CloudKit> => {
  const { openTerritories, nameOf } = await import('../providers/aws/open-territories.ts');
  const { cloudOfTerritories } = await import('../providers/aws/territories.ts');
  const others = openTerritories(entries, home, { region: home.region });
  const probes = others.map(({ name, clients, region }) => probeOf(`${kit.cloud.name} ${name}`, { clients, region, tags: home.tags }));
  return { ...kit, cloud: cloudOfTerritories({ name: nameOf(home), cloud: kit.cloud }, others), probes: [...kit.probes, ...probes] };
};

const accessIn = (region: string): CloudAccess => ({
  managedCluster: async (entry, signal) => {
    if (!('eks' in entry)) throw notKept('aws', entry);
    const { EKSClient } = await import('@aws-sdk/client-eks');
    const { eksEndpoint, eksTokens } = await import('../providers/aws/eks.ts');
    const place = { cluster: entry.eks.cluster ?? entry.name, region: entry.eks.region ?? region };
    const eks = new EKSClient({ region: place.region });
    const { server, certificateAuthorityData } = await eksEndpoint(eks, place.cluster, signal);
    const identity = { ...place, credentials: eks.config.credentials, now: Date.now };
    return { server, ca: Buffer.from(certificateAuthorityData, 'base64').toString(), token: eksTokens(identity) };
  },
  secret: async (entry, signal) => {
    if ('secret' in entry) {
      const { SecretsManagerClient } = await import('@aws-sdk/client-secrets-manager');
      return secretText(new SecretsManagerClient({ region }), entry.secret, signal);
    }
    if (!('parameter' in entry)) throw notKept('aws', entry);
    const { SSMClient } = await import('@aws-sdk/client-ssm');
    return parameterText(new SSMClient({ region }), entry.parameter, signal);
  },
});
