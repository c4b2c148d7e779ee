import type { SecurityAuthentication } from '@kubernetes/client-node/dist/gen/index.js';
import type { Agent } from 'node:http';
import { underPermit } from '../transport/under-permit.ts';
import { exchange } from './exchange.ts';
import type { Link } from './link.ts';
import { lineOf, responseOf, textOf } from './link.ts';
import { retire } from './pool.ts';

export interface HttpsEnds {
  readonly server: string;
  readonly authentication: SecurityAuthentication;
  /** The shared pool of connections, as it is to be used for the next request. */
  readonly agent: () => Promise<Agent>;
  readonly unverified?: boolean;
}

/**
 * By Node's own HTTPS, which the cloud's SDK has loaded already: the client's own way, undici, is half a megabyte more of
 * code and 20 MB of memory. HTTP/1.1, because an idle HTTP/2 session may be dead when a frozen function thaws.
 */
export const httpsLink = ({ server, authentication, agent, unverified = false }: HttpsEnds): Link => ({
  server,
  unverified: () => unverified,
  authentication,
  send: async (request, permit) => {
    const outgoing = { method: request.getHttpMethod(), url: request.getUrl(), headers: request.getHeaders(), body: textOf(request) };
    const pool = await agent();
    const signal = request.getSignal();
    if (!permit) return responseOf(await exchange(outgoing, { agent: pool, signal }));
    const call = { name: lineOf(request), permit, signal };
    return responseOf(await underPermit(call, (passage) => exchange(outgoing, { agent: passage.through(pool), signal: passage.signal })));
  },
  // Where not even the pool can be had, there is nothing to close.
  close: () => agent().then(retire, () => undefined),
});
