import type { Agent } from 'node:http';

/**
 * One pool for all calls: the client on its own makes a new agent, and so a new TLS connection, for each request.
 * An idle connection is kept for less than load balancers keep theirs, because one of theirs that ended is found out only
 * by a write that fails. TCP's own probes begin after 30 s, as in Kubernetes' clients in Go.
 */
export const POOL = { keepAlive: true, keepAliveMsecs: 30_000, maxSockets: 4, timeout: 10_000 } as const;

/** Ends a pool as its calls end: idle connections are closed now, the others when their answer is there. */
export const retire = (agent: Agent): void => {
  agent.maxFreeSockets = 0;
  for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
};
