import { z } from 'zod';
import { Denied } from '../../fencing/errors.ts';
import { translated } from './errors.ts';
import { restCall, type RestOptions } from './rest.ts';
import { armScope, armUrl } from './sovereign.ts';

/** How to reach the API server of an AKS cluster, as the identity whose Entra token this is. */

export interface AksCluster {
  readonly subscription: string;
  readonly resourceGroup: string;
  readonly cluster: string;
}

export interface AksOptions extends RestOptions {
  /** URL of another endpoint of ARM. */
  readonly endpoint: string | null;
}

const CREDENTIALS = 'managedClusters/listClusterUserCredential/action';
const API_VERSION = '2024-09-01';

const credentials = z.object({ kubeconfigs: z.array(z.object({ value: z.base64() })).min(1) }).transform(({ kubeconfigs: [first] }) => Buffer.from(first?.value ?? '', 'base64').toString());

/**
 * The kubeconfig that AKS gives to users: where the API server is, and the authority that vouches for it.
 * https://learn.microsoft.com/rest/api/aks/managed-clusters/list-cluster-user-credentials
 *
 * @throws Unavailable, Denied, Refused
 */
export const aksKubeconfig = ({ endpoint, ...rest }: AksOptions, { subscription, resourceGroup, cluster }: AksCluster, signal: AbortSignal): Promise<string> => {
  const path = ['subscriptions', subscription, 'resourceGroups', resourceGroup, 'providers', 'Microsoft.ContainerService', 'managedClusters', cluster].map(encodeURIComponent).join('/');
  const url = `${armUrl(endpoint)}/${path}/listClusterUserCredential?api-version=${API_VERSION}&format=exec`;
  return restCall(rest, { method: 'POST', url, scope: armScope(endpoint), name: CREDENTIALS }, credentials, signal);
};

/** The application that every AKS cluster with Entra ID is, in every Azure cloud. https://learn.microsoft.com/azure/aks/kubelogin-authentication */
const SERVER = '6dae42f8-4368-4678-94ff-3960e28e3630/.default';

/** A token is renewed this long (ms) before its end. */
const RENEWED_BEFORE_MS = 5 * 60_000;

const entraToken = async ({ credential }: RestOptions) => {
  const token = await translated('Entra ID, asked for a token for AKS,', () => credential.getToken(SERVER));
  if (token === null) throw new Denied('Entra ID gave no token for AKS');
  return token;
};

/** Hands out the bearer token, and a new one well before the old one ends; not every credential keeps its tokens itself. */
export const aksTokens = (options: RestOptions, now: () => number): (() => Promise<string>) => {
  let held: { readonly token: string; readonly until: number } | null = null;
  return async () => {
    if (held && now() < held.until) return held.token;
    const { token, expiresOnTimestamp } = await entraToken(options);
    held = { token, until: expiresOnTimestamp - RENEWED_BEFORE_MS };
    return token;
  };
};
