import { z } from 'zod';
import { Denied, InvalidConfiguration } from '../../../fencing/model/errors.ts';
import { notKept } from '../../cluster-entries.ts';
import { apiServerIn } from '../../api-server-in.ts';
import type { CloudAccess } from '../../plugin.ts';
import { armScope, armUrl } from '../client.ts';
import { withCloudfenceErrors } from '../errors.ts';
import { restCall, type RestOptions } from '../rest.ts';

export interface AzureAccessOptions extends AksOptions {
  /** Of clusters whose entry names none. */
  readonly subscription: string | null;
  /** Wall clock, epoch ms. */
  readonly now: () => number;
}

/** Ways into clusters that AKS manages or Key Vault keeps. Key Vault needs no subscription. */
export const azureAccess = ({ subscription: usual, now, ...options }: AzureAccessOptions): CloudAccess => ({
  managedCluster: async (entry, signal) => {
    if (!('aks' in entry)) throw notKept('azure', entry);
    const { cluster = entry.name, resourceGroup, subscription = usual } = entry.aks;
    if (subscription === null)
      throw new InvalidConfiguration([
        `no subscription for the AKS cluster ${cluster}: name it in the entry, or set AZURE_SUBSCRIPTION_ID`,
      ]);
    const { server, ca, byEntra } = apiServerIn(
      await aksKubeconfig(options, { subscription, resourceGroup, cluster }, signal),
      `AKS, of the cluster ${cluster}`,
    );
    if (!byEntra)
      throw new InvalidConfiguration([
        `the AKS cluster ${cluster} knows no users of Entra ID: enable that, or keep a kubeconfig in a Key Vault`,
      ]);
    return { server, ca, token: aksTokens(options, now) };
  },
  secret: async (entry, signal) => {
    if (!('keyVault' in entry)) throw notKept('azure', entry);
    return vaultSecret(options, entry.keyVault, signal);
  },
});

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
const AKS_API_VERSION = '2024-09-01';

const credentials = z
  .object({ kubeconfigs: z.array(z.object({ value: z.base64() })).min(1) })
  .transform(({ kubeconfigs: [first] }) => Buffer.from(first?.value ?? '', 'base64').toString());

/**
 * The kubeconfig that AKS gives to users: where the API server is, and the authority that vouches for it.
 * https://learn.microsoft.com/rest/api/aks/managed-clusters/list-cluster-user-credentials
 *
 * @throws Unavailable, Denied, Refused
 */
export const aksKubeconfig = (
  { endpoint, ...rest }: AksOptions,
  { subscription, resourceGroup, cluster }: AksCluster,
  signal: AbortSignal,
): Promise<string> => {
  const path = [
    'subscriptions',
    subscription,
    'resourceGroups',
    resourceGroup,
    'providers',
    'Microsoft.ContainerService',
    'managedClusters',
    cluster,
  ]
    .map(encodeURIComponent)
    .join('/');
  const url = `${armUrl(endpoint)}/${path}/listClusterUserCredential?api-version=${AKS_API_VERSION}&format=exec`;
  return restCall(rest, { method: 'POST', url, scope: armScope(endpoint), name: CREDENTIALS }, credentials, signal);
};

/**
 * The application that every AKS cluster with Entra ID is, in every Azure cloud.
 * https://learn.microsoft.com/azure/aks/kubelogin-authentication
 */
const SERVER = '6dae42f8-4368-4678-94ff-3960e28e3630/.default';

/** A token is renewed this long (ms) before its end. */
const RENEWED_BEFORE_MS = 5 * 60_000;

const entraToken = async ({ credential }: RestOptions) => {
  const token = await withCloudfenceErrors('Entra ID, asked for a token for AKS,', () => credential.getToken(SERVER));
  if (token === null) throw new Denied('Entra ID gave no token for AKS');
  return token;
};

/**
 * Hands out the bearer token, and a new one well before the old one ends; not every credential keeps its tokens itself.
 */
export const aksTokens = (options: RestOptions, now: () => number): (() => Promise<string>) => {
  let held: { readonly token: string; readonly until: number } | null = null;
  return async () => {
    if (held && now() < held.until) return held.token;
    const { token, expiresOnTimestamp } = await entraToken(options);
    held = { token, until: expiresOnTimestamp - RENEWED_BEFORE_MS };
    return token;
  };
};

export interface VaultSecret {
  /** Name of a vault of public Azure, the name of any vault's host, or a URL. */
  readonly vault: string;
  readonly secret: string;
}

const KEY_VAULT_API_VERSION = '7.4';

/** A bare name is a vault of public Azure. */
const urlOf = (vault: string): URL => {
  if (/^https?:/i.test(vault)) return new URL(vault);
  return new URL(`https://${vault.includes('.') ? vault : `${vault}.vault.azure.net`}`);
};

/** `https://vault.azure.net/.default`, and likewise in the clouds that are apart. */
const scopeOf = ({ hostname }: URL): string => `https://${hostname.split('.').slice(1).join('.')}/.default`;

const held = z.object({ value: z.string().min(1) }).transform(({ value }) => value);

/**
 * The text of the newest version of a secret. https://learn.microsoft.com/rest/api/keyvault/secrets/get-secret
 *
 * @throws Unavailable, Denied, Refused
 */
export const vaultSecret = (
  options: RestOptions,
  { vault, secret }: VaultSecret,
  signal: AbortSignal,
): Promise<string> => {
  const url = urlOf(vault);
  return restCall(
    options,
    {
      method: 'GET',
      url: `${url.origin}/secrets/${encodeURIComponent(secret)}?api-version=${KEY_VAULT_API_VERSION}`,
      scope: scopeOf(url),
      name: 'vaults/secrets/get',
    },
    held,
    signal,
  );
};
