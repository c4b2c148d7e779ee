import { Agent } from 'node:https';
import { Socket } from 'node:net';

/** Destroys a socket that is not ready by then, so that what waits for it fails instead of leaving late. */
const giveUpLate = (socket: Socket, within: number): void => {
  const late = AbortSignal.timeout(within);
  const giveUp = () => socket.destroy(new Error(`no connection within ${within} ms`));
  late.addEventListener('abort', giveUp, { once: true });
  socket.once('secureConnect', () => late.removeEventListener('abort', giveUp));
};

/**
 * Connections that stand within so many ms or not at all; the SDK has no time-out for that. A destructive call is checked before its
 * connection is made, and its permit leaves room for exactly this long; usually it finds the warm connection of the reads
 * before it.
 */
export const promptAgent = (within: number): Agent => {
  const agent = new Agent({ keepAlive: true });
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    const socket = connect(options, callback);
    if (socket instanceof Socket) giveUpLate(socket, within);
    return socket;
  };
  return agent;
};
