import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { SSMClient } from '@aws-sdk/client-ssm';
import { InvalidConfiguration } from '../../../fencing/model/errors.ts';
import { wrongCloudError } from '../../cluster-entries.ts';
import type { CloudAccess } from '../../plugin.ts';
import { withCloudfenceErrors } from '../errors.ts';
import type { EKSClient } from '@aws-sdk/client-eks';
import type { SignatureV4 } from '@smithy/signature-v4';

/**
 * Gives access to clusters that EKS manages, and to clusters whose credentials are in Secrets Manager or Parameter
 * Store. The first entry that needs an SDK loads the SDK.
 */
export const awsAccess = (region: string): CloudAccess => ({
  managedCluster: async (entry, signal) => {
    if (!('eks' in entry)) throw wrongCloudError('aws', entry);
    const { EKSClient } = await import('@aws-sdk/client-eks');
    const eksCluster = { cluster: entry.eks.cluster ?? entry.name, region: entry.eks.region ?? region };
    const eks = new EKSClient({ region: eksCluster.region });
    const { server, certificateAuthorityData } = await readEksEndpoint(eks, eksCluster.cluster, signal);
    const identity = { ...eksCluster, credentials: eks.config.credentials, now: Date.now };
    return {
      server,
      ca: Buffer.from(certificateAuthorityData, 'base64').toString(),
      token: eksTokenProvider(identity),
    };
  },
  secret: async (entry, signal) => {
    if ('secret' in entry) {
      const { SecretsManagerClient } = await import('@aws-sdk/client-secrets-manager');
      return secretText(new SecretsManagerClient({ region }), entry.secret, signal);
    }
    if (!('parameter' in entry)) throw wrongCloudError('aws', entry);
    const { SSMClient } = await import('@aws-sdk/client-ssm');
    return parameterText(new SSMClient({ region }), entry.parameter, signal);
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

/** Connects to the API server of an EKS cluster with the given AWS credentials. */

interface EksEndpoint {
  readonly server: string;
  /** PEM in base64, as in a kubeconfig. */
  readonly certificateAuthorityData: string;
}

/**
 * Returns the endpoint of an EKS cluster.
 *
 * @throws Unavailable, PermissionDenied, Refused, InvalidConfiguration (if the cluster exists but has no endpoint yet)
 */
export const readEksEndpoint = async (eks: EKSClient, cluster: string, signal: AbortSignal): Promise<EksEndpoint> => {
  const { DescribeClusterCommand } = await import('@aws-sdk/client-eks');
  const answer = await withCloudfenceErrors('eks:DescribeCluster', () =>
    eks.send(new DescribeClusterCommand({ name: cluster }), { abortSignal: signal }),
  );
  const server = answer.cluster?.endpoint;
  const certificateAuthorityData = answer.cluster?.certificateAuthority?.data;
  if (server === undefined || certificateAuthorityData === undefined) {
    throw new InvalidConfiguration([
      `EKS cluster ${cluster} has no endpoint: its status is ${answer.cluster?.status ?? 'unknown'}`,
    ]);
  }
  return { server, certificateAuthorityData };
};

interface EksIdentity {
  readonly cluster: string;
  readonly region: string;
  readonly credentials: ConstructorParameters<typeof SignatureV4>[0]['credentials'];
  /** Wall clock, epoch ms. */
  readonly now: () => number;
}

/** How long the signature is valid (s). EKS accepts the token for 15 minutes after its date. */
const SIGNED_FOR_S = 60;
const RENEW_AFTER_MS = 10 * 60_000;

/**
 * Returns a function that returns the bearer token. It creates a new token well before the 15 minutes of the old one
 * end.
 */
export const eksTokenProvider = (identity: EksIdentity): (() => Promise<string>) => {
  let held: { readonly token: Promise<string>; readonly since: number } | null = null;
  return () => {
    const since = identity.now();
    if (held && since - held.since < RENEW_AFTER_MS) return held.token;
    const fresh = { token: eksToken(identity), since };
    held = fresh;
    fresh.token.catch(() => {
      if (held === fresh) held = null;
    });
    return fresh.token;
  };
};

/**
 * Returns a presigned STS GetCallerIdentity request that names the cluster in a signed header, as aws-iam-authenticator
 * expects it. https://docs.aws.amazon.com/eks/latest/userguide/cluster-auth.html
 *
 * @throws PermissionDenied if there are no credentials
 */
export const eksToken = ({ cluster, region, credentials, now }: EksIdentity): Promise<string> =>
  withCloudfenceErrors('sts:GetCallerIdentity (signing)', async () => {
    const [{ SignatureV4 }, { Sha256 }] = await Promise.all([
      import('@smithy/signature-v4'),
      import('@aws-crypto/sha256-js'),
    ]);
    const signer = new SignatureV4({ credentials, region, service: 'sts', sha256: Sha256 });
    const hostname = `sts.${region}.${region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'}`;
    const request = {
      method: 'GET',
      protocol: 'https:',
      hostname,
      path: '/',
      query: { Action: 'GetCallerIdentity', Version: '2011-06-15' },
      headers: { host: hostname, 'x-k8s-aws-id': cluster },
    };
    const signed = await signer.presign(request, { expiresIn: SIGNED_FOR_S, signingDate: new Date(now()) });
    const query = Object.entries(signed.query ?? {}).map(
      ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`,
    );
    return `k8s-aws-v1.${Buffer.from(`https://${hostname}/?${query.join('&')}`).toString('base64url')}`;
  });
