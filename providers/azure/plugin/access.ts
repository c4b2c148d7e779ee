import { z } from 'zod';
import { minLength, nonEmptyText, encodePart } from '../../../fencing/model/foreign-text.ts';
import { PermissionDenied, InvalidConfiguration, Unavailable } from '../../../fencing/model/errors.ts';
import { wrongCloudError } from '../../cluster-entries.ts';
import type { CloudAccess } from '../../plugin.ts';
import { armScope, armUrl } from '../client.ts';
import { withCloudfenceErrors } from '../errors.ts';
import { restCall, type RestOptions } from '../rest.ts';

interface AzureAccessOptions extends AksOptions {
  /** The subscription of clusters whose entry names none. */
  readonly subscription: string | null;
  /** Wall clock, epoch ms. */
  readonly now: () => number;
}

/** Gives access to clusters that AKS manages, and to kubeconfigs in Key Vault. Key Vault needs no subscription. */
export const azureAccess = ({ subscription: usual, now, ...options }: AzureAccessOptions): CloudAccess => ({
  managedCluster: async (entry, signal) => {
    if (!('aks' in entry)) throw wrongCloudError('azure', entry);
    const { cluster = entry.name, resourceGroup, subscription = usual } = entry.aks;
    if (subscription === null)
      throw new InvalidConfiguration([
        `the subscription of AKS cluster ${cluster} is unknown: add it to the entry, or set AZURE_SUBSCRIPTION_ID`,
      ]);
    const text = await aksKubeconfig(options, { subscription, resourceGroup, cluster }, signal);
    const { server, ca, byEntra } = await parseApiServer(text, `AKS for cluster ${cluster}`);
    if (!byEntra)
      throw new InvalidConfiguration([
        `AKS cluster ${cluster} has no Entra ID integration: enable it, or store a kubeconfig in a Key Vault`,
      ]);
    return { server, ca, token: aksTokenProvider(options, now) };
  },
  secret: async (entry, signal) => {
    if (!('keyVault' in entry)) throw wrongCloudError('azure', entry);
    return readVaultSecret(options, entry.keyVault, signal);
  },
});

/** Reaches the API server of an AKS cluster with the identity of the given Entra token. */

interface AksCluster {
  readonly subscription: string;
  readonly resourceGroup: string;
  readonly cluster: string;
}

interface AksOptions extends RestOptions {
  /** URL of another ARM endpoint. */
  readonly endpoint: string | null;
}

const CREDENTIALS = 'managedClusters/listClusterUserCredential/action';
const AKS_API_VERSION = '2024-09-01';

const credentials = z
  .object({ kubeconfigs: z.array(z.object({ value: z.base64() })).check(minLength(1)) })
  .transform(({ kubeconfigs: [first] }) => Buffer.from(first?.value ?? '', 'base64').toString());

/**
 * Returns the kubeconfig that AKS gives to users. It contains the address of the API server and its certificate
 * authority.
 * https://learn.microsoft.com/rest/api/aks/managed-clusters/list-cluster-user-credentials
 *
 * @throws Unavailable, PermissionDenied, Refused
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
    .map(encodePart)
    .join('/');
  const url = `${armUrl(endpoint)}/${path}/listClusterUserCredential?api-version=${AKS_API_VERSION}&format=exec`;
  return restCall(rest, { method: 'POST', url, scope: armScope(endpoint), name: CREDENTIALS }, credentials, signal);
};

/**
 * The application that represents every AKS cluster with Entra ID, in every Azure cloud.
 * https://learn.microsoft.com/azure/aks/kubelogin-authentication
 */
const AKS_TOKEN_SCOPE = '6dae42f8-4368-4678-94ff-3960e28e3630/.default';

/** How long before its expiry a token is refreshed (ms). */
const RENEWED_BEFORE_MS = 5 * 60_000;

const entraToken = async ({ credential }: RestOptions) => {
  const token = await withCloudfenceErrors('the request to Entra ID for an AKS token', () =>
    credential.getToken(AKS_TOKEN_SCOPE),
  );
  if (token === null) throw new PermissionDenied('Entra ID returned no access token for AKS');
  return token;
};

/**
 * Returns a function that returns the bearer token. It requests a new token well before the old one expires, because
 * not every credential caches its tokens.
 */
export const aksTokenProvider = (options: RestOptions, now: () => number): (() => Promise<string>) => {
  let held: { readonly token: string; readonly until: number } | null = null;
  return async () => {
    if (held && now() < held.until) return held.token;
    const { token, expiresOnTimestamp } = await entraToken(options);
    held = { token, until: expiresOnTimestamp - RENEWED_BEFORE_MS };
    return token;
  };
};

interface VaultSecret {
  /** The name of a vault in public Azure, the host name of any vault, or a URL. */
  readonly vault: string;
  readonly secret: string;
}

const KEY_VAULT_API_VERSION = '7.4';

/** Returns the URL of a vault. A bare name is a vault in public Azure. */
const urlOf = (vault: string): URL => {
  if (/^https?:/i.test(vault)) return new URL(vault);
  return new URL(`https://${vault.includes('.') ? vault : `${vault}.vault.azure.net`}`);
};

/** Returns the token scope: `https://vault.azure.net/.default`, or its equivalent in a sovereign cloud. */
const scopeOf = ({ hostname }: URL): string => `https://${hostname.split('.').slice(1).join('.')}/.default`;

const held = z.object({ value: nonEmptyText }).transform(({ value }) => value);

/**
 * Returns the text of the newest version of a secret.
 * https://learn.microsoft.com/rest/api/keyvault/secrets/get-secret
 *
 * @throws Unavailable, PermissionDenied, Refused
 */
export const readVaultSecret = (
  options: RestOptions,
  { vault, secret }: VaultSecret,
  signal: AbortSignal,
): Promise<string> => {
  const url = urlOf(vault);
  return restCall(
    options,
    {
      method: 'GET',
      url: `${url.origin}/secrets/${encodePart(secret)}?api-version=${KEY_VAULT_API_VERSION}`,
      scope: scopeOf(url),
      name: 'vaults/secrets/get',
    },
    held,
    signal,
  );
};

/** Reads the API server of a cluster from the kubeconfig that AKS issues. */

interface ApiServer {
  readonly server: string;
  /** PEM */
  readonly ca: string;
  /**
   * Whether the users of the kubeconfig log in with a program and have no credentials in it, as users of Entra ID do.
   */
  readonly byEntra: boolean;
}

const cluster = z.object({
  cluster: z.object({ server: z.url({ protocol: /^https$/ }), 'certificate-authority-data': z.base64() }),
});
const user = z.object({ user: z.looseObject({ exec: z.unknown().optional() }) });

const kubeconfig = z
  .object({ clusters: z.array(cluster).check(minLength(1)), users: z.array(user).default([]) })
  .transform(({ clusters: [first], users }): ApiServer => ({
    server: first?.cluster.server ?? '',
    ca: Buffer.from(first?.cluster['certificate-authority-data'] ?? '', 'base64').toString(),
    byEntra: users.some((one) => one.user.exec !== undefined),
  }));

/** Longer than any real kubeconfig (characters). The parser may need minutes for a text of megabytes. */
const LONGEST = 1_000_000;

/**
 * Returns the content of the text, or null if there is none. An alias without an anchor causes an error only in `toJS`.
 */
const yamlIn = async (text: string): Promise<unknown> => {
  // Other requests to Azure need no YAML parser.
  const { parseDocument } = await import('yaml');
  if (text.length > LONGEST) return null;
  try {
    return parseDocument(text).toJS();
  } catch (error) {
    if (error instanceof ReferenceError || error instanceof RangeError) return null;
    throw error;
  }
};

/**
 * Parses the API server from a kubeconfig that a cloud issued. `source` names the kubeconfig in error messages.
 *
 * @throws Unavailable if the text is not a kubeconfig
 */
export const parseApiServer = async (text: string, source: string): Promise<ApiServer> => {
  const read = kubeconfig.safeParse(await yamlIn(text));
  if (read.success) return read.data;
  throw new Unavailable(`the kubeconfig from ${source} cannot be read`, { cause: read.error });
};
