import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';

/**
 * The connections of one client to one cloud. Reads and destructive calls share them, so a destructive call usually
 * finds a connection that a read has opened.
 */
export interface ConnectionPool {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
}

/** Allows as many sockets as the SDKs open by default. */
const OPTIONS = { keepAlive: true, maxSockets: 50 } as const;

export const createConnectionPool = (): ConnectionPool => ({
  http: new HttpAgent(OPTIONS),
  https: new HttpsAgent(OPTIONS),
});
