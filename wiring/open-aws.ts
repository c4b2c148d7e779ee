import { InvalidConfiguration } from '../fencing/errors.ts';
import { readHints } from '../providers/aws/events/read-hints.ts';
import { awsCloud, ec2Clients, probe } from '../providers/aws/index.ts';
import type { Ec2Clients, ProbedVerb } from '../providers/aws/index.ts';
import { regionOfProfile } from '../providers/aws/region.ts';
import { parameterText, secretText } from '../providers/aws/secrets.ts';
import { notKept } from './access-by-entry.ts';
import type { CloudAccess, CloudKit, CloudOptions, CloudProbe } from './cloud-kit.ts';

/** What is lost where a verb is denied. Permissions that hang on a tag are denied for what does not exist and bears none: no proof. */
const missed: Readonly<Record<ProbedVerb['verb'], string>> = {
  'ec2:DetachVolume': 'unless the permission hangs on a tag, a disk that Kubernetes does not let go of stays attached',
  'ec2:StopInstances': 'only the policy `unreachable: power-off` needs it',
};

export const verbsInWords = (verbs: readonly ProbedVerb[]): string =>
  verbs.map(({ verb, denied }) => (denied ? `${verb} IS DENIED in a dry run: ${missed[verb]}` : `${verb} is not denied`)).join('; ');

const probeOf = (where: string, clients: Ec2Clients, region: string): CloudProbe => ({
  where,
  ask: async (signal) => {
    const verbs = await probe(clients, region, signal);
    return `ec2:DescribeInstances and ec2:DescribeVolumes answer in ${region}; ${verbsInWords(verbs)}`;
  },
});

const NO_REGION = 'no region: give --region, set AWS_REGION, or write `region` into the configuration file or the profile of the AWS CLI';

export const openAws = async ({ region: given, account, territories }: CloudOptions): Promise<CloudKit> => {
  const region = given ?? (await regionOfProfile());
  if (region === null) throw new InvalidConfiguration([NO_REGION]);
  const clients = ec2Clients({ region });
  const cloud = awsCloud({ clients, region });
  const kit = { cloud, readHints, probes: [probeOf(cloud.name, clients, region)], access: accessIn(region) };
  return territories.length === 0 ? kit : withTerritories(kit, territories, { account, region });
};

/** Loaded by those only who serve more than one territory. */
const withTerritories = async (kit: CloudKit, entries: CloudOptions['territories'], home: { readonly account: string | null; readonly region: string }): Promise<CloudKit> => {
  const { openTerritories, nameOf } = await import('../providers/aws/open-territories.ts');
  const { cloudOfTerritories } = await import('../providers/aws/territories.ts');
  const others = openTerritories(entries, home, { region: home.region });
  const probes = others.map(({ name, clients, region }) => probeOf(`${kit.cloud.name} ${name}`, clients, region));
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
