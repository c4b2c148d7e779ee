import type { RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import type { SecurityAuthentication } from '@kubernetes/client-node/dist/gen/index.js';
import type { Dispatcher } from 'undici';
import { Agent, ProxyAgent } from 'undici';
import { InvalidConfiguration } from '../fencing/errors.ts';
import { POOL } from './https-link.ts';

const optionsOf = async (config: KubeConfig): Promise<RequestOptions> => {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  return options;
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

/** The client's own choice for a kept-alive connection: shorter than the idle time-outs of cloud load balancers. */
const KEPT_ALIVE = { keepAlive: true, keepAliveInitialDelay: 30_000 } as const;

const trustOf = ({ ca, cert, key, rejectUnauthorized, servername }: RequestOptions) => ({
  ...(ca !== undefined && { ca }),
  ...(cert !== undefined && { cert }),
  ...(key !== undefined && { key }),
  ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
  ...(servername !== undefined && { servername }),
});

const madeFrom = (config: KubeConfig, options: RequestOptions): Dispatcher => {
  const trust = trustOf(options);
  const way = config.createDispatcherOptions(config.getCurrentCluster(), trust);
  switch (way.type) {
    case 'agent':
    case 'none':
      return new Agent({ ...POOL, connect: { ...trust, ...KEPT_ALIVE } });
    case 'proxy':
      return new ProxyAgent({ ...POOL, uri: way.uri, requestTls: trust });
    case 'socks':
      throw new InvalidConfiguration(['a SOCKS proxy in a kubeconfig is not supported']);
  }
};

/** One dispatcher for all requests; a new one only when an exec plugin has handed out another client certificate. */
export const kubeConfigDispatcher = (config: KubeConfig): (() => Promise<Dispatcher>) => {
  let shared: { readonly dispatcher: Dispatcher; readonly certificate: string } | null = null;
  return async () => {
    const options = await optionsOf(config);
    const certificate = String(options.cert ?? '');
    if (shared?.certificate === certificate) return shared.dispatcher;
    const retired = shared?.dispatcher;
    shared = { dispatcher: madeFrom(config, options), certificate };
    await retired?.close();
    return shared.dispatcher;
  };
};
