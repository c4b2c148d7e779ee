import { InvalidConfiguration } from '../fencing/errors.ts';
import { readHints } from '../providers/aws/events/read-hints.ts';
import { awsCloud, ec2Clients } from '../providers/aws/index.ts';
import { parameterText, secretText } from '../providers/aws/secrets.ts';
import type { CloudKit, CloudOptions } from './clouds.ts';
import type { CloudAccess } from './open-clusters.ts';

/** An id that EC2 never gave out: asking for it shows whether we may ask. */
const NOBODYS_INSTANCE = 'i-00000000000000000';

export const openAws = async ({ region }: CloudOptions): Promise<CloudKit> => {
  if (region === null) throw new InvalidConfiguration(['no region: give --region, set AWS_REGION, or write `region` into the configuration file']);
  const cloud = awsCloud({ clients: ec2Clients({ region }), region });
  return {
    cloud,
    readHints,
    probe: async (signal) => {
      await cloud.look([NOBODYS_INSTANCE], { disks: true }, signal);
      return `ec2:DescribeInstances and ec2:DescribeVolumes answer in ${region}`;
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
