import { Agent as ClearAgent } from 'node:http';
import { Agent, type RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import type { SecurityAuthentication } from '@kubernetes/client-node/dist/gen/index.js';
import { HttpProxyAgent, HttpsProxyAgent } from 'hpagent';
import { InvalidConfiguration } from '../fencing/model/errors.ts';
import { bearerAuthentication, httpsLink, type Link, POOL_OPTIONS, closeWhenIdle } from './exchange.ts';
import {
  chosenKubeConfig,
  type KubeConfigText,
  execPluginUserOf,
  redactedKubeconfigError,
  refuseSendingInClear,
} from './kubeconfig.ts';

/** Creates a link to an API server from a kubeconfig or a token. */

/**
 * A credential program may ask a person to log in. So for such a user, no connection is opened ahead: the program
 * starts only when a request needs its credential.
 */
const linkOf = (config: KubeConfig): Link => {
  const link = httpsLink({
    server: config.getCurrentCluster()?.server ?? '',
    authentication: kubeConfigAuthentication(config),
    agent: kubeConfigAgent(config),
    unverified: config.getCurrentCluster()?.skipTLSVerify ?? false,
  });
  return execPluginUserOf(config) === null ? link : { ...link, connect: async () => undefined };
};

/**
 * Creates a link from kubeconfigs, merged in the given order. Supports tokens, client certificates, and exec plugins as
 * far as the client library does. https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
 * @throws InvalidConfiguration
 */
export const linkFromKubeConfigs = (texts: readonly KubeConfigText[], context: string | null): Link =>
  linkOf(chosenKubeConfig(texts, context));

/** Creates a link from one kubeconfig that was not read from a file. @throws InvalidConfiguration */
export const linkFromKubeConfig = (content: string, context: string | null): Link =>
  linkFromKubeConfigs([{ content, file: null }], context);

const optionsOf = async (config: KubeConfig): Promise<RequestOptions> => {
  const options: RequestOptions = {};
  try {
    await config.applyToHTTPSOptions(options);
    return options;
  } catch (caught) {
    throw redactedKubeconfigError(config, caught);
  }
};

/** Authenticates each request. Asks KubeConfig every time, because KubeConfig renews expired credentials. */
const kubeConfigAuthentication = (config: KubeConfig): SecurityAuthentication => ({
  getName: () => 'kubeconfig',
  applySecurityAuthentication: async (request) => {
    const { headers, auth } = await optionsOf(config);
    if (typeof auth === 'string')
      request.setHeaderParam('Authorization', `Basic ${Buffer.from(auth).toString('base64')}`);
    for (const [name, value] of Object.entries(headers ?? {})) request.setHeaderParam(name, String(value));
  },
});

const trustOf = ({ ca, cert, key, rejectUnauthorized, servername }: RequestOptions) => ({
  ...(ca !== undefined && { ca }),
  ...(cert !== undefined && { cert }),
  ...(key !== undefined && { key }),
  ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
  ...(servername !== undefined && { servername }),
});

/**
 * Creates the connection pool for the current cluster. A server on plain http gets a credential only if it runs on this
 * machine, which `chosenKubeConfig` has checked.
 */
const createAgentFor = (config: KubeConfig, options: RequestOptions): ClearAgent => {
  const { server, proxyUrl } = config.getCurrentCluster() ?? { server: '' };
  const clear = server.startsWith('http:');
  if (!proxyUrl) return clear ? new ClearAgent(POOL_OPTIONS) : new Agent({ ...POOL_OPTIONS, ...trustOf(options) });
  if (proxyUrl.startsWith('socks')) throw new InvalidConfiguration(['a SOCKS proxy in a kubeconfig is not supported']);
  return clear
    ? new HttpProxyAgent({ ...POOL_OPTIONS, proxy: proxyUrl })
    : new HttpsProxyAgent({ ...POOL_OPTIONS, ...trustOf(options), proxy: proxyUrl });
};

/**
 * Returns one pool for all requests. Creates a new pool only when an exec plugin provides a different client
 * certificate.
 */
const kubeConfigAgent = (config: KubeConfig): (() => Promise<ClearAgent>) => {
  let shared: { readonly agent: ClearAgent; readonly certificate: string } | null = null;
  return async () => {
    const options = await optionsOf(config);
    const certificate = String(options.cert ?? '');
    if (shared?.certificate === certificate) return shared.agent;
    if (shared) closeWhenIdle(shared.agent);
    shared = { agent: createAgentFor(config, options), certificate };
    return shared.agent;
  };
};

interface TokenAccess {
  readonly server: string;
  /** The certificate authority (PEM) of the server's certificate; null if a public authority issued the certificate. */
  readonly ca: string | null;
  /** Called before each request, so that it can refresh the token in time. */
  readonly token: () => Promise<string>;
}

/** Creates a link to a managed API server. The cloud provides the tokens. @throws InvalidConfiguration */
export const linkFromToken = ({ server, ca, token }: TokenAccess): Link => {
  refuseSendingInClear(server);
  const agent = new Agent({ ...POOL_OPTIONS, ...(ca !== null && { ca }) });
  return httpsLink({ server, authentication: bearerAuthentication(token), agent: async () => agent });
};
