import type { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import { CONNECTING_LASTS_MS } from '../../fencing/permit.ts';

/** Node's agents wait for a connection as long as the system does: this one gives up when a permit does not leave more time. */
export const connectingIsShort = <A extends Agent>(agent: A, limitMs = CONNECTING_LASTS_MS): A => {
  const connected = agent instanceof HttpsAgent ? 'secureConnect' : 'connect';
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    const socket = connect(options, callback);
    if (socket) limitConnecting(socket, connected, limitMs);
    return socket;
  };
  return agent;
};

const limitConnecting = (socket: Duplex, connected: string, limitMs: number): void => {
  const limit = AbortSignal.timeout(limitMs);
  const giveUp = (): void => void socket.destroy(new Error(`no connection within ${limitMs} ms`));
  limit.addEventListener('abort', giveUp, { once: true });
  socket.once(connected, () => limit.removeEventListener('abort', giveUp));
};
