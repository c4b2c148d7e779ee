import { Agent, type ClientRequest } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import { isIP, Socket } from 'node:net';

declare module 'node:http' {
  interface Agent {
    /** The options that the agent passes to each connection, such as the trusted certificates. */
    readonly options: object;
    /** The method with which Node passes a request to its agent. */
    addRequest(request: ClientRequest, options: object): void;
  }
}

/**
 * The connections of a client: its pool, and connections that are opened before there are requests for them. Opening a
 * connection has no effect: no request and no credential is sent, and a permit is still checked when a request gets its
 * connection.
 */

/**
 * How long a connection may stay idle (ms), unless its agent has another limit. Servers close idle connections somewhat
 * later, and a request must not use a connection that is being closed.
 */
const IDLE_LASTS_MS = 10_000;

interface Spare {
  readonly end: () => void;
  /** Returns the connection for use. Returns null if it is no longer usable. */
  readonly take: () => Socket | null;
}

/** An HTTP agent that uses a spare connection before it opens a new one. */
interface Prepared {
  /** Opens a connection as the agent does. */
  readonly connect: Agent['createConnection'];
  /** The unused connections, by the agent's name for their server. */
  readonly spares: Map<string, Set<Spare>>;
}

const preparedAgents = new WeakMap<Agent, Prepared>();

const sparesFor = (agent: Agent, name: string): ReadonlySet<Spare> =>
  preparedAgents.get(agent)?.spares.get(name) ?? new Set();

/**
 * If a server has sent data before any request, it is closing the connection, for example with "408 Request Timeout". A
 * request must not read that as its answer.
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

/**
 * Returns the server in the form that Node's agents use. An IP address cannot be used as a server name: RFC 6066 does
 * not allow it.
 */
const requestOptionsOf = (url: URL): RequestOptions => {
  const host = hostIn(url);
  return { host, port: portIn(url), servername: isIP(host) === 0 ? host : '' };
};

const optionsFor = (agent: Agent, server: URL) => ({
  ...requestOptionsOf(server),
  timeout: IDLE_LASTS_MS,
  ...agent.options,
});

/** Returns the number of connections to a server that an agent has or is opening. */
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

/** An agent may serve several servers: the AWS SDK sends its requests to STS through the agent of its client. */
const prepare = (agent: Agent): Prepared => {
  const prepared: Prepared = { connect: agent.createConnection.bind(agent), spares: new Map() };
  agent.createConnection = (options, callback) =>
    takeSpare(sparesFor(agent, agent.getName(options))) ?? prepared.connect(options, callback);
  preparedAgents.set(agent, prepared);
  return prepared;
};

/** Returns whether the agent opens connections as Node's agents do. An agent for a proxy uses its own steps. */
const isPlainAgent = (agent: Agent): boolean =>
  [Agent, HttpsAgent].some(({ prototype }) => Object.getPrototypeOf(agent) === prototype);

/**
 * Opens connections to a server, which the next requests of an agent to that server use. Does nothing for the agent of
 * a proxy. If the server is not reachable, this does not fail. The request that needs the connection reports it.
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
export const closeUnusedConnections = (agent: Agent): void => {
  for (const spares of preparedAgents.get(agent)?.spares.values() ?? []) for (const { end } of spares) end();
};

/**
 * Returns an agent of the same kind that uses the same connections. It passes each request to `onlooker` before the
 * request gets a connection.
 */
export const withOnlooker = <A extends Agent>(agent: A, onlooker: (request: ClientRequest) => void): A =>
  Object.create(agent, {
    addRequest: {
      value: (request: ClientRequest, options: object) => {
        onlooker(request);
        agent.addRequest(request, options);
      },
    },
  });

/**
 * The connections of one client to one cloud. Reads and destructive calls share them, so a destructive call usually
 * finds a connection that a read has opened.
 */
export interface ConnectionPool {
  readonly http: Agent;
  readonly https: HttpsAgent;
}

/** Allows as many sockets as the SDKs open by default. */
const OPTIONS = { keepAlive: true, maxSockets: 50 } as const;

/** When all requests that wait for their connections have been sent, calls `left` with the last one. */
const whenAllLeft = (left: (last: ClientRequest) => void): ((request: ClientRequest) => void) => {
  const waiting = new Set<ClientRequest>();
  const isLast = (request: ClientRequest): boolean => waiting.delete(request) && waiting.size === 0;
  return (request) => {
    waiting.add(request);
    request.once('finish', () => isLast(request) && left(request)).once('close', () => isLast(request));
  };
};

/** An answer about a machine leads to reads of its disks, which are sent concurrently. */
const SIDE_BY_SIDE = 2;

/**
 * Creates a pool. `onRequestsSent` is called whenever requests have been sent and no request waits for its connection.
 * A second connection is opened during the first request, and again after the pool has lost its connections.
 */
export const createConnectionPool = (onRequestsSent: () => void = () => undefined): ConnectionPool => {
  const own = { http: new Agent(OPTIONS), https: new HttpsAgent(OPTIONS) };
  const left = (agent: Agent) => (request: ClientRequest) => {
    const server = URL.parse(`${request.protocol}//${String(request.getHeader('host'))}`);
    if (server && !request.reusedSocket) connectAhead(agent, server, SIDE_BY_SIDE - connectionCount(agent, server));
    onRequestsSent();
  };
  return {
    http: withOnlooker(own.http, whenAllLeft(left(own.http))),
    https: withOnlooker(own.https, whenAllLeft(left(own.https))),
  };
};
