import type { gaxios } from 'google-auth-library';
import { ProofExpired } from '../../fencing/errors.ts';
import { connections } from '../../transport/pool.ts';
import { underPermit, type Passage, type PermittedCall } from '../../transport/under-permit.ts';

type Adapter = NonNullable<gaxios.GaxiosOptions['adapter']>;
export type Fetch = NonNullable<gaxios.GaxiosOptions['fetchImplementation']>;

/** What a destructive call has to be sent with. */
export interface Sending {
  readonly requestId: string;
  readonly signal: AbortSignal;
}

export interface GuardedTransport {
  /** The last step before the wire: credentials, and every wait for them, lie before it. */
  readonly adapter: Adapter;
  readonly permitted: <T>(call: PermittedCall, send: (sending: Sending) => Promise<T>) => Promise<T>;
}

/** All else that goes this way asks for credentials. */
export const isCompute = ({ pathname }: URL): boolean => pathname.startsWith('/compute/');

/** Calls that change something; waiting for an operation and asking what one may do are none. */
const isDestructive = (method: string | undefined, url: URL): boolean => method !== 'GET' && isCompute(url) && !/\/(?:wait|testIamPermissions)$/.test(url.pathname);

/**
 * The SDK has no hook of its own between its credentials and the connection, and none that knows which call is going
 * through. So each destructive call is known by its request id, and one whose passage is not on file is not sent. It is not sent
 * on to where an answer points, either.
 */
export const guardedTransport = (newRequestId: () => string): GuardedTransport => {
  const passages = new Map<string, Passage>();
  const { http, https } = connections();
  const passageOf = (url: URL): Passage => {
    const passage = passages.get(url.searchParams.get('requestId') ?? '');
    if (!passage) throw new ProofExpired('a destructive call had no permit any more; it was not sent');
    passage.check();
    return passage;
  };
  return {
    adapter: async (request, send) => {
      const agent = request.url.protocol === 'http:' ? http : https;
      request.signal?.throwIfAborted();
      if (!isDestructive(request.method, request.url)) return send({ ...request, agent });
      return send({ ...request, agent: passageOf(request.url).through(agent), redirect: 'error' });
    },
    permitted: (call, send) =>
      underPermit(call, async (passage) => {
        const requestId = newRequestId();
        passages.set(requestId, passage);
        try {
          return await send({ requestId, signal: passage.signal });
        } finally {
          passages.delete(requestId);
        }
      }),
  };
};
