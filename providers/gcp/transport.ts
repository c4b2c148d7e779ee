import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { gaxios } from 'google-auth-library';
import { ProofExpired } from '../../fencing/errors.ts';
import { CONNECTING_LASTS_MS, type Permit } from '../../fencing/permit.ts';
import { connectingIsShort } from './short-connecting.ts';

type Adapter = NonNullable<gaxios.GaxiosOptions['adapter']>;
export type Fetch = NonNullable<gaxios.GaxiosOptions['fetchImplementation']>;

export interface GuardedTransport {
  /** The last step before the wire: credentials, and every wait for them, lie before it. */
  readonly adapter: Adapter;
  readonly permitted: <T>(permit: Permit, send: (requestId: string) => Promise<T>) => Promise<T>;
}

/** All else that goes this way asks for credentials. */
export const isCompute = ({ pathname }: URL): boolean => pathname.startsWith('/compute/');

/** Calls that change something; waiting for an operation does not. */
const isDestructive = (method: string | undefined, url: URL): boolean => method !== 'GET' && isCompute(url) && !url.pathname.endsWith('/wait');

/**
 * The SDK has no hook of its own between its credentials and the connection, and none that knows which call is going
 * through. So each destructive call is known by its request id, and one whose permit is not on file is not sent.
 */
export const guardedTransport = (newRequestId: () => string): GuardedTransport => {
  const permits = new Map<string, Permit>();
  const agents = { 'http:': connectingIsShort(new HttpAgent({ keepAlive: true })), 'https:': connectingIsShort(new HttpsAgent({ keepAlive: true })) };
  const check = (url: URL): void => {
    const permit = permits.get(url.searchParams.get('requestId') ?? '');
    if (!permit) throw new ProofExpired('a destructive call had no permit any more; it was not sent');
    permit.check(CONNECTING_LASTS_MS);
  };
  return {
    adapter: async (request, send) => {
      const agent = request.url.protocol === 'http:' ? agents['http:'] : agents['https:'];
      request.signal?.throwIfAborted();
      if (isDestructive(request.method, request.url)) check(request.url);
      return send({ ...request, agent });
    },
    permitted: async (permit, send) => {
      const requestId = newRequestId();
      permits.set(requestId, permit);
      try {
        return await send(requestId);
      } finally {
        permits.delete(requestId);
      }
    },
  };
};
