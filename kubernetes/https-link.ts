import type { RequestContext, SecurityAuthentication } from '@kubernetes/client-node/dist/gen/index.js';
import { IsomorphicFetchHttpLibrary } from '@kubernetes/client-node/dist/gen/index.js';
import type { Dispatcher } from 'undici';
import { withLastCheck } from './last-check.ts';
import type { Link } from './link.ts';

/**
 * One pool for all calls: the client on its own makes a new agent, and so a new TLS connection, for each request.
 * HTTP/1.1, because an idle HTTP/2 session is kept for ever and may be dead when a frozen function thaws.
 */
export const POOL = { connections: 4, allowH2: false } as const;

export interface HttpsEnds {
  readonly server: string;
  readonly authentication: SecurityAuthentication;
  /** The shared dispatcher, as it is to be used for the next request. */
  readonly dispatcher: () => Promise<Dispatcher>;
}

export const httpsLink = ({ server, authentication, dispatcher }: HttpsEnds): Link => {
  const library = new IsomorphicFetchHttpLibrary();
  return {
    server,
    authentication,
    send: async (request: RequestContext, lastCheck) => {
      request.setDispatcher(withLastCheck(await dispatcher(), lastCheck));
      lastCheck();
      return library.send(request).toPromise();
    },
    close: async () => (await dispatcher()).close(),
  };
};
