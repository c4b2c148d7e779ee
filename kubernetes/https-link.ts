import type { SecurityAuthentication } from '@kubernetes/client-node/dist/gen/index.js';
import type { Agent } from 'node:http';
import { exchange } from './exchange.ts';
import type { Link } from './link.ts';
import { responseOf, textOf } from './link.ts';
import { retire } from './pool.ts';

export interface HttpsEnds {
  readonly server: string;
  readonly authentication: SecurityAuthentication;
  /** The shared pool of connections, as it is to be used for the next request. */
  readonly agent: () => Promise<Agent>;
}

/**
 * By Node's own HTTPS, which the cloud's SDK has loaded already: the client's own way, undici, is half a megabyte more of
 * code and 20 MB of memory. HTTP/1.1, because an idle HTTP/2 session may be dead when a frozen function thaws.
 */
export const httpsLink = ({ server, authentication, agent }: HttpsEnds): Link => ({
  server,
  authentication,
  send: async (request, lastCheck) => {
    const outgoing = { method: request.getHttpMethod(), url: request.getUrl(), headers: request.getHeaders(), body: textOf(request) };
    const way = { agent: await agent(), signal: request.getSignal(), lastCheck };
    lastCheck();
    return responseOf(await exchange(outgoing, way));
  },
  close: async () => retire(await agent()),
});
