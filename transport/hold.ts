import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** A request that its agent cannot send before this module allows it. */
export interface HeldRequest {
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
export const holdRequest = (request: ClientRequest, refusal: () => Error | null): HeldRequest => {
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
