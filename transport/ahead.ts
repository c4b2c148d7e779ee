import { Agent } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import { isIP, Socket } from 'node:net';

declare module 'node:http' {
  interface Agent {
    /** What the agent passes to each connection, such as the trusted certificates. */
    readonly options: object;
  }
}

/**
 * Makes connections before there are requests for them. To connect is no act: nothing is asked, no credential is sent,
 * and a permit is still checked when a request gets its connection.
 */

/**
 * How long a connection stays idle (ms), unless its agent says so. A server closes it some time later, and a request must
 * not meet that.
 */
const IDLE_LASTS_MS = 10_000;

interface Spare {
  readonly end: () => void;
  /** Hands the connection over. Returns null if it is no longer usable. */
  readonly take: () => Socket | null;
}

/** Like an idle connection of an agent, it does not keep the process alive. */
const watchOver = (socket: Socket): Spare => {
  const end = (): void => void socket.destroy();
  socket.unref().on('error', end).on('timeout', end).on('end', end);
  const take = (): Socket | null => {
    if (socket.destroyed || !socket.writable) return null;
    return socket.off('error', end).off('timeout', end).off('end', end).ref();
  };
  return { end, take };
};

const hostIn = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

const portIn = ({ protocol, port }: URL): number => Number(port) || (protocol === 'http:' ? 80 : 443);

/** Returns the place as Node's agents name it. An address is no server name: RFC 6066 does not allow it. */
const placeOf = (url: URL): RequestOptions => {
  const host = hostIn(url);
  return { host, port: portIn(url), servername: isIP(host) === 0 ? host : '' };
};

/** Returns how many connections an agent has, or is making. */
export const standing = ({ sockets, freeSockets }: Agent): number =>
  [...Object.values(sockets), ...Object.values(freeSockets)].flat().length;

/**
 * Returns whether the agent connects as Node's agents do. An agent for a proxy does it in steps of its own, and an agent
 * that this module has prepared hands out what is there.
 */
const isPlain = (agent: Agent): boolean =>
  [Agent, HttpsAgent].some(({ prototype }) => Object.getPrototypeOf(agent) === prototype) &&
  !Object.hasOwn(agent, 'createConnection');

/** Ends the connections that no request has used. */
export type EndUnused = () => void;

export const nothingUnused: EndUnused = () => undefined;

/**
 * Opens connections that the next requests of an agent use. The agent must belong to this one server. Does nothing for
 * an agent of a proxy, and as long as there are connections that were opened ahead. A server that is out of reach is no
 * failure here: the request that needs it says so.
 */
export const connectAhead = (agent: Agent, server: URL, count: number): EndUnused => {
  if (!isPlain(agent)) return nothingUnused;
  const connect = agent.createConnection.bind(agent);
  const options = { ...placeOf(server), timeout: IDLE_LASTS_MS, ...agent.options };
  const made = Array.from({ length: count }, () => connect(options));
  const spares = made.flatMap((socket) => (socket instanceof Socket ? [watchOver(socket)] : []));
  const next = (): Socket | null => {
    const spare = spares.shift();
    if (spare) return spare.take() ?? next();
    Reflect.deleteProperty(agent, 'createConnection');
    return null;
  };
  agent.createConnection = (...wanted) => next() ?? connect(...wanted);
  return () => {
    for (const { end } of spares.splice(0)) end();
  };
};
