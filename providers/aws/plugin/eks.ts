import { Sha256 } from '@aws-crypto/sha256-js';
import type { EKSClient } from '@aws-sdk/client-eks';
import { DescribeClusterCommand } from '@aws-sdk/client-eks';
import { SignatureV4 } from '@smithy/signature-v4';
import { InvalidConfiguration } from '../../../fencing/model/errors.ts';
import { withCloudfenceErrors } from '../errors.ts';
import { serviceHost } from '../signed-calls.ts';

/** Connects to the API server of an EKS cluster with the given AWS credentials. */

export interface EksEndpoint {
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

export interface EksIdentity {
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
    const signer = new SignatureV4({ credentials, region, service: 'sts', sha256: Sha256 });
    const hostname = serviceHost('sts', region);
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
