import { type Agent, type ClientRequest, Agent as HttpAgent } from 'node:http';
import { CloudfenceError, ProofExpired, Unavailable } from '../fencing/model/errors.ts';
import type { Permit } from '../fencing/model/permit.ts';
import { connectAhead, connectionCount } from './ahead.ts';
import { holdRequest, type HeldRequest } from './hold.ts';
import { Agent as HttpsAgent } from 'node:https';

declare module 'node:http' {
  interface Agent {
    /** The method with which Node passes a request to its agent. */
    addRequest(request: ClientRequest, options: object): void;
  }
}

/** One destructive call, sent by any SDK. */
export interface PermittedCall {
  /** The name of the call in messages, which is the permission that it needs. */
  readonly name: string;
  readonly permit: Permit;
  /** The caller's signal. It aborts what is in progress. */
  readonly signal: AbortSignal | undefined;
}

/** The path of a permitted call to the network. */
export interface PermittedPath {
  /** Aborts everything for which the call still waits. An SDK receives this signal and no other. */
  readonly signal: AbortSignal;
  /**
   * Checks the permit for the last time if no agent opens the connection: for a stand-in in this process, or for a
   * transport without an agent.
   *
   * @throws CloudfenceError if the permit does not allow the call
   */
  readonly check: () => void;
  /**
   * Returns an agent that uses the same connections. It holds each request until the request's own connection is
   * established, and then checks the permit.
   */
  readonly through: (agent: Agent) => Agent;
}

interface OpenPassage extends PermittedPath {
  /** Ends the call. A request that has not been sent is never sent, and a request in progress is reset. */
  readonly end: () => void;
  /** Returns why this module ended the call, or null. */
  readonly why: () => CloudfenceError | null;
  /** Closes the call after it has ended. A request that an SDK left behind can no longer be sent. */
  readonly close: () => void;
}

const unknownResult = (name: string): Unavailable =>
  new Unavailable(
    `${name} got no response while its proof was valid. Cloudfence reset the connection; the next look shows whether the call took effect`,
  );

const notSent = ({ name, permit }: PermittedCall): CloudfenceError =>
  permit.ended.aborted
    ? new ProofExpired(`${name} got no connection while its proof was valid, so Cloudfence did not send it`)
    : new Unavailable(`${name} was canceled before Cloudfence sent it`);

const refusalOf = ({ permit }: PermittedCall): CloudfenceError | null => {
  try {
    permit.check();
    return null;
  } catch (error) {
    if (error instanceof CloudfenceError) return error;
    throw error;
  }
};

/**
 * Returns an agent of the same kind that uses the same connections. It passes each request to `onlooker` before the
 * request gets a connection.
 */
const withOnlooker = <A extends Agent>(agent: A, onlooker: (request: ClientRequest) => void): A =>
  Object.create(agent, {
    addRequest: {
      value: (request: ClientRequest, options: object) => {
        onlooker(request);
        agent.addRequest(request, options);
      },
    },
  });

/** Tracks the requests of one call as they pass through its agents. */
const requestsOf = (refusal: () => Error | null, onlooker: () => void) => {
  const held = new Set<HeldRequest>();
  const ours = new WeakSet<Agent>();
  const watch = (request: ClientRequest): void => {
    onlooker();
    const one = holdRequest(request, refusal);
    held.add(one);
    request.once('close', () => held.delete(one));
  };
  const through = (agent: Agent): Agent => {
    if (ours.has(agent)) return agent;
    const other = withOnlooker(agent, watch);
    ours.add(other);
    return other;
  };
  return { through, each: (then: (one: HeldRequest) => void): void => held.forEach(then) };
};

const openPassage = (call: PermittedCall): OpenPassage => {
  const ending = new AbortController();
  let perhapsLeft = false;
  let why: CloudfenceError | null = null;
  const refusal = (): CloudfenceError | null => {
    why ??= refusalOf(call);
    perhapsLeft = why === null;
    return why;
  };
  const { through, each } = requestsOf(refusal, () => (perhapsLeft = false));
  const check = (): void => {
    const refused = refusal();
    if (refused) throw refused;
  };
  const end = (): void => {
    const because = (why ??= perhapsLeft ? unknownResult(call.name) : notSent(call));
    each((one) => one.cut(because));
    ending.abort(because);
  };
  const close = (): void => {
    const because = (why ??= notSent(call));
    each((one) => one.giveUp(because));
  };
  return { signal: ending.signal, check, through, end, why: () => why, close };
};

/**
 * Sends one destructive call. The call is sent while its permit is valid, or not at all. Its answer counts while its
 * permit is valid, or not at all.
 *
 * The permit is checked when the connection is established, including TLS, right before the first byte. Before that,
 * the call may wait for a name server, a proxy, a handshake, and a queue of other requests. If the permit ends before
 * the whole answer has arrived, the connection is reset, so that buffered bytes are not sent later. The same happens if
 * the caller aborts. It is then unknown whether the call took effect. Only the next look shows that.
 *
 * @throws ProofExpired if the permit ended before anything was sent; Unavailable if the effect is unknown, or if the
 * caller aborted before the call was sent; and what `send` throws
 */
export const underPermit = async <T>(call: PermittedCall, send: (passage: PermittedPath) => Promise<T>): Promise<T> => {
  const passage = openPassage(call);
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const over = AbortSignal.any([...(call.signal ? [call.signal] : []), call.permit.ended]);
  const end = (): void => {
    passage.end();
    reject(passage.why());
  };
  if (over.aborted) end();
  over.addEventListener('abort', end);
  try {
    const sending = over.aborted ? ended : send(passage);
    return await Promise.race([sending, ended]);
  } catch (caught) {
    throw passage.why() ?? caught;
  } finally {
    over.removeEventListener('abort', end);
    passage.close();
  }
};

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
  const own = { http: new HttpAgent(OPTIONS), https: new HttpsAgent(OPTIONS) };
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
