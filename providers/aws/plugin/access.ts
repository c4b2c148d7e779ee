import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { SSMClient } from '@aws-sdk/client-ssm';
import { InvalidConfiguration } from '../../../fencing/model/errors.ts';
import { wrongCloudError } from '../../cluster-entries.ts';
import type { CloudAccess } from '../../plugin.ts';
import { withCloudfenceErrors } from '../errors.ts';

/** Limits each request and its repetitions. Times are in ms. */
interface RequestLimits {
  readonly requestHandler: {
    readonly connectionTimeout: number;
    readonly requestTimeout: number;
    readonly throwOnRequestTimeout: boolean;
  };
  readonly maxAttempts: number;
}

/** They do not come from ../client.ts, because that file loads the SDK of EC2. */
const usualLimits: RequestLimits = {
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
  maxAttempts: 3,
};

/**
 * Gives access to clusters that EKS manages, and to clusters whose credentials are in Secrets Manager or Parameter
 * Store. The first entry that needs an SDK loads the SDK. Without the limits, an SDK waits forever for a service that
 * does not answer, and all later requests to the cluster would wait, too.
 */
export const awsAccess = (region: string, limits: RequestLimits = usualLimits): CloudAccess => ({
  managedCluster: async (entry, signal) => {
    if (!('eks' in entry)) throw wrongCloudError('aws', entry);
    const { EKSClient } = await import('@aws-sdk/client-eks');
    const { readEksEndpoint: eksEndpoint, eksTokenProvider: eksTokens } = await import('./eks.ts');
    const eksCluster = { cluster: entry.eks.cluster ?? entry.name, region: entry.eks.region ?? region };
    const eks = new EKSClient({ ...limits, region: eksCluster.region });
    const { server, certificateAuthorityData } = await eksEndpoint(eks, eksCluster.cluster, signal);
    const identity = { ...eksCluster, credentials: eks.config.credentials, now: Date.now };
    return { server, ca: Buffer.from(certificateAuthorityData, 'base64').toString(), token: eksTokens(identity) };
  },
  secret: async (entry, signal) => {
    if ('secret' in entry) {
      const { SecretsManagerClient } = await import('@aws-sdk/client-secrets-manager');
      return secretText(new SecretsManagerClient({ ...limits, region }), entry.secret, signal);
    }
    if (!('parameter' in entry)) throw wrongCloudError('aws', entry);
    const { SSMClient } = await import('@aws-sdk/client-ssm');
    return parameterText(new SSMClient({ ...limits, region }), entry.parameter, signal);
  },
});

/**
 * Returns the text of a Secrets Manager secret.
 *
 * @throws PermissionDenied, Unavailable, Refused, InvalidConfiguration (if it contains no text)
 */
const secretText = async (client: SecretsManagerClient, name: string, signal: AbortSignal): Promise<string> => {
  const { GetSecretValueCommand } = await import('@aws-sdk/client-secrets-manager');
  const answer = await withCloudfenceErrors('secretsmanager:GetSecretValue', () =>
    client.send(new GetSecretValueCommand({ SecretId: name }), { abortSignal: signal }),
  );
  return textOf(answer.SecretString, `secret ${name}`);
};

/** Returns the decrypted text of an SSM parameter. @throws the same errors as `secretText` */
const parameterText = async (client: SSMClient, name: string, signal: AbortSignal): Promise<string> => {
  const { GetParameterCommand } = await import('@aws-sdk/client-ssm');
  const answer = await withCloudfenceErrors('ssm:GetParameter', () =>
    client.send(new GetParameterCommand({ Name: name, WithDecryption: true }), { abortSignal: signal }),
  );
  return textOf(answer.Parameter?.Value, `parameter ${name}`);
};

const textOf = (text: string | undefined, what: string): string => {
  if (text === undefined || text === '')
    throw new InvalidConfiguration([`${what} contains no text: store the kubeconfig in it`]);
  return text;
};
