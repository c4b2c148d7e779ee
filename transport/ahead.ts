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

/** An HTTP agent that uses a spare connection before it opens a new one. */
interface Prepared {
  /** Makes a connection as the agent does. */
  readonly connect: Agent['createConnection'];
  /** The connections that no request has used yet, by the agent's own name for their server. */
  readonly spares: Map<string, Set<Spare>>;
}

const preparedAgents = new WeakMap<Agent, Prepared>();

const sparesFor = (agent: Agent, name: string): ReadonlySet<Spare> =>
  preparedAgents.get(agent)?.spares.get(name) ?? new Set();

/**
 * A server that has written before anything was asked has said goodbye, for example with "408 Request Timeout". A request
 * must not take that as its answer.
 */
const isUsable = ({ destroyed, writable, readableLength }: Socket): boolean =>
  !destroyed && writable && readableLength === 0;

/** Like an idle connection of an agent, it does not keep the process alive. */
const watchOver = (socket: Socket, spares: Set<Spare>): void => {
  const end = (): void => {
    spares.delete(spare);
    socket.destroy();
  };
  const take = (): Socket | null => {
    spares.delete(spare);
    if (!isUsable(socket)) {
      socket.destroy();
      return null;
    }
    return socket.off('error', end).off('timeout', end).off('end', end).off('close', end).ref();
  };
  const spare = { end, take };
  spares.add(spare);
  socket.unref().on('error', end).on('timeout', end).on('end', end).on('close', end);
};

const hostIn = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

const portIn = ({ protocol, port }: URL): number => Number(port) || (protocol === 'http:' ? 80 : 443);

/** Returns the place as Node's agents name it. An address is no server name: RFC 6066 does not allow it. */
const requestOptionsOf = (url: URL): RequestOptions => {
  const host = hostIn(url);
  return { host, port: portIn(url), servername: isIP(host) === 0 ? host : '' };
};

const optionsFor = (agent: Agent, server: URL) => ({
  ...requestOptionsOf(server),
  timeout: IDLE_LASTS_MS,
  ...agent.options,
});

/** Returns how many connections to a server an agent has, or is making. */
export const connectionCount = (agent: Agent, server: URL): number => {
  const name = agent.getName(optionsFor(agent, server));
  const { sockets, freeSockets } = agent;
  return (sockets[name]?.length ?? 0) + (freeSockets[name]?.length ?? 0) + sparesFor(agent, name).size;
};

const takeSpare = (spares: ReadonlySet<Spare>): Socket | null => {
  for (const { take } of spares) {
    const socket = take();
    if (socket) return socket;
  }
  return null;
};

/** An agent may serve several servers: the SDK of AWS sends its questions to STS over the agent of its client. */
const prepare = (agent: Agent): Prepared => {
  const prepared: Prepared = { connect: agent.createConnection.bind(agent), spares: new Map() };
  agent.createConnection = (options, callback) =>
    takeSpare(sparesFor(agent, agent.getName(options))) ?? prepared.connect(options, callback);
  preparedAgents.set(agent, prepared);
  return prepared;
};

/** Returns whether the agent connects as Node's agents do. An agent for a proxy does it in steps of its own. */
const isPlainAgent = (agent: Agent): boolean =>
  [Agent, HttpsAgent].some(({ prototype }) => Object.getPrototypeOf(agent) === prototype);

/**
 * Opens connections to a server, which the next requests of an agent to that server use. Does nothing for an agent of a
 * proxy. A server that is out of reach is no failure here: the request that needs it says so.
 */
export const connectAhead = (agent: Agent, server: URL, count: number): void => {
  if (!isPlainAgent(agent)) return;
  const { connect, spares } = preparedAgents.get(agent) ?? prepare(agent);
  const options = optionsFor(agent, server);
  const name = agent.getName(options);
  const those = spares.get(name) ?? new Set();
  spares.set(name, those);
  for (let made = 0; made < count; made += 1) {
    const socket = connect(options);
    if (socket instanceof Socket) watchOver(socket, those);
  }
};

/** Ends the connections of an agent that no request has used. */
export const endUnused = (agent: Agent): void => {
  for (const spares of preparedAgents.get(agent)?.spares.values() ?? []) for (const { end } of spares) end();
};
