import { InvalidConfiguration } from '../fencing/errors.ts';
import { readHints } from '../providers/aws/events/read-hints.ts';
import { awsCloud, ec2Clients, probe } from '../providers/aws/index.ts';
import type { ProbedVerb } from '../providers/aws/index.ts';
import { parameterText, secretText } from '../providers/aws/secrets.ts';
import type { CloudAccess, CloudKit, CloudOptions } from './cloud-kit.ts';

/** What is lost where a verb is denied. Permissions that hang on a tag are denied for what does not exist and bears none: no proof. */
const missed: Readonly<Record<ProbedVerb['verb'], string>> = {
  'ec2:DetachVolume': 'unless the permission hangs on a tag, a disk that Kubernetes does not let go of stays attached',
  'ec2:StopInstances': 'only the policy `unreachable: power-off` needs it',
};

export const verbsInWords = (verbs: readonly ProbedVerb[]): string =>
  verbs.map(({ verb, denied }) => (denied ? `${verb} IS DENIED in a dry run: ${missed[verb]}` : `${verb} is not denied`)).join('; ');

export const openAws = async ({ region }: CloudOptions): Promise<CloudKit> => {
  if (region === null) throw new InvalidConfiguration(['no region: give --region, set AWS_REGION, or write `region` into the configuration file']);
  const clients = ec2Clients({ region });
  return {
    cloud: awsCloud({ clients, region }),
    readHints,
    probe: async (signal) => {
      const verbs = await probe(clients, region, signal);
      return `ec2:DescribeInstances and ec2:DescribeVolumes answer in ${region}; ${verbsInWords(verbs)}`;
    },
    access: accessIn(region),
  };
};

const accessIn = (region: string): CloudAccess => ({
  managedCluster: async (cluster, signal) => {
    const { EKSClient } = await import('@aws-sdk/client-eks');
    const { eksEndpoint, eksTokens } = await import('../providers/aws/eks.ts');
    const eks = new EKSClient({ region: cluster.region ?? region });
    const { server, certificateAuthorityData } = await eksEndpoint(eks, cluster.name, signal);
    const identity = { cluster: cluster.name, region: cluster.region ?? region, credentials: eks.config.credentials, now: Date.now };
    return { server, ca: Buffer.from(certificateAuthorityData, 'base64').toString(), token: eksTokens(identity) };
  },
  secret: async (name, signal) => {
    const { SecretsManagerClient } = await import('@aws-sdk/client-secrets-manager');
    return secretText(new SecretsManagerClient({ region }), name, signal);
  },
  parameter: async (name, signal) => {
    const { SSMClient } = await import('@aws-sdk/client-ssm');
    return parameterText(new SSMClient({ region }), name, signal);
  },
});
