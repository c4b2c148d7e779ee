import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';

/**
 * The connections of one client to one cloud, shared by its reads and its orders: an order mostly finds one that a read
 * has warmed.
 */
export interface Connections {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
}

/** As many as the SDKs open by themselves. */
const OPTIONS = { keepAlive: true, maxSockets: 50 } as const;

export const connections = (): Connections => ({ http: new HttpAgent(OPTIONS), https: new HttpsAgent(OPTIONS) });
