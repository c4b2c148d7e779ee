import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import type { SecurityAuthentication } from '@kubernetes/client-node/dist/gen/index.js';
import { HttpProxyAgent, HttpsProxyAgent } from 'hpagent';
import { Agent as ClearAgent } from 'node:http';
import { Agent, type RequestOptions } from 'node:https';
import { InvalidConfiguration } from '../fencing/errors.ts';
import { withoutOutput } from './kubeconfig-trust.ts';
import { POOL, retire } from './pool.ts';

const optionsOf = async (config: KubeConfig): Promise<RequestOptions> => {
  const options: RequestOptions = {};
  try {
    await config.applyToHTTPSOptions(options);
    return options;
  } catch (caught) {
    throw withoutOutput(config, caught);
  }
};

/** Who asks, as KubeConfig says it anew for each request: it renews what has expired. */
export const kubeConfigAuthentication = (config: KubeConfig): SecurityAuthentication => ({
  getName: () => 'kubeconfig',
  applySecurityAuthentication: async (request) => {
    const { headers, auth } = await optionsOf(config);
    if (typeof auth === 'string') request.setHeaderParam('Authorization', `Basic ${Buffer.from(auth).toString('base64')}`);
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

/** A server in the clear is one without credentials, or on this machine. */
const madeFrom = (config: KubeConfig, options: RequestOptions): ClearAgent => {
  const { server, proxyUrl } = config.getCurrentCluster() ?? { server: '' };
  const clear = server.startsWith('http:');
  if (!proxyUrl) return clear ? new ClearAgent(POOL) : new Agent({ ...POOL, ...trustOf(options) });
  if (proxyUrl.startsWith('socks')) throw new InvalidConfiguration(['a SOCKS proxy in a kubeconfig is not supported']);
  return clear ? new HttpProxyAgent({ ...POOL, proxy: proxyUrl }) : new HttpsProxyAgent({ ...POOL, ...trustOf(options), proxy: proxyUrl });
};

/** One pool for all requests; a new one only when an exec plugin has handed out another client certificate. */
export const kubeConfigAgent = (config: KubeConfig): (() => Promise<ClearAgent>) => {
  let shared: { readonly agent: ClearAgent; readonly certificate: string } | null = null;
  return async () => {
    const options = await optionsOf(config);
    const certificate = String(options.cert ?? '');
    if (shared?.certificate === certificate) return shared.agent;
    if (shared) retire(shared.agent);
    shared = { agent: madeFrom(config, options), certificate };
    return shared.agent;
  };
};
