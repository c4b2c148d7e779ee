import type { Agent, ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { CloudfenceError, ProofExpired, Unavailable } from '../fencing/model/errors.ts';
import type { Permit } from '../fencing/model/permit.ts';
import { withOnlooker } from './connections.ts';

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
    `${name} got no response while its proof was valid. Cloudfence reset the connection; the next look shows ` +
      'whether the call took effect',
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

/** A request that its agent cannot send before this module allows it. */
interface HeldRequest {
  /** Ends the request at any stage. A request that was already sent is reset. */
  readonly cut: (why: Error) => void;
  /** Ends the request only if it has not been sent. */
  readonly giveUp: (why: Error) => void;
}

const isConnecting = (socket: Socket): boolean =>
  socket.connecting || ('secureConnecting' in socket && socket.secureConnecting === true);

/**
 * Calls `go` after the connection is established or has failed. Calls `go` immediately if there is nothing to wait for.
 */
const whenConnected = (socket: Socket, go: (error?: Error) => void): void => {
  if (!isConnecting(socket)) return go();
  const stands = socket instanceof TLSSocket ? 'secureConnect' : 'connect';
  const settle = (error?: Error): void => {
    socket.off(stands, settled).off('error', settle).off('close', closed);
    go(error);
  };
  const settled = (): void => settle();
  const closed = (): void => settle(new Error('the connection closed before it was established'));
  socket.once(stands, settled).once('error', settle).once('close', closed);
};

/**
 * Gives the connection to the next waiting request. If there is none, the agent closes it. Destroys a connection that
 * is still being established.
 */
const returnToAgent = (socket: Socket): void => {
  if (isConnecting(socket)) socket.destroy();
  else process.nextTick(() => socket.emit('free'));
};

/** Returns the function with which an agent gives a request its connection, or the reason why there is none. */
const receiverOf = (request: ClientRequest): ((socket: Socket | null, error?: Error) => void) => {
  const receive: unknown = Reflect.get(request, 'onSocket');
  if (typeof receive !== 'function')
    throw new TypeError(
      'this Node.js version has no `onSocket` on requests, which Cloudfence needs: use a supported version',
    );
  return (socket, error) => void Reflect.apply(receive, request, [socket, error]);
};

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/**
 * Returns the TCP handle below a connection. TLS runs on a connection, which may itself be TLS to a proxy. The TCP
 * handle is the innermost one.
 */
const tcpHandleOf = (handle: object): object => {
  const below: unknown = Reflect.get(handle, '_parent');
  return isObject(below) ? tcpHandleOf(below) : handle;
};

/**
 * Makes the connection reset when it closes, as `resetAndDestroy()` does: the system discards buffered data and
 * notifies the other side. Node offers `resetAndDestroy()` only for plain sockets. For TLS it fails with
 * ERR_INVALID_HANDLE_TYPE, and for plain sockets it ends with two errors for one request. So this function changes the
 * TCP handle below both. A connection that is already closing can no longer be reset.
 */
const resetsWhenClosed = (socket: Socket): void => {
  const handle: unknown = Reflect.get(socket, '_handle');
  if (!isObject(handle) || socket.writableEnded) return;
  const tcp = tcpHandleOf(handle);
  const reset: unknown = Reflect.get(tcp, 'reset');
  if (typeof reset === 'function') Reflect.set(tcp, 'close', reset);
};

/**
 * Holds a request until its connection is established. Then sends it, unless `refusal` returns an error. Until then,
 * all written data stays in the request itself. So its first byte is sent at that moment, or never. If a request
 * without a connection is destroyed, it emits no event. So this function notifies the request that it will get no
 * connection.
 */
const holdRequest = (request: ClientRequest, refusal: () => Error | null): HeldRequest => {
  const receive = receiverOf(request);
  let waitsFor: Socket | null = null;
  let left = false;
  const giveUp = (why: Error): void => {
    if (left || request.destroyed) return;
    request.destroy(why);
    receive(null, why);
    if (waitsFor) returnToAgent(waitsFor);
  };
  const leave = (socket: Socket): void => {
    const why = refusal();
    if (why) return giveUp(why);
    left = true;
    receive(socket);
  };
  request.onSocket = (socket: Socket | null, error?: Error) => {
    if (!socket || error) return receive(socket, error);
    waitsFor = socket;
    whenConnected(socket, (failed) => {
      if (request.destroyed) returnToAgent(socket);
      else if (failed) giveUp(failed);
      else leave(socket);
    });
  };
  const cut = (why: Error): void => {
    if (!left) return giveUp(why);
    if (request.destroyed) return;
    if (request.socket) resetsWhenClosed(request.socket);
    request.destroy(why);
  };
  return { cut, giveUp };
};
