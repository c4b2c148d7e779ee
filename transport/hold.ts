import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** A request that its agent cannot give a connection to without our leave. */
export interface Held {
  /** Ends it, wherever it is: one that has left is reset. */
  readonly cut: (why: Error) => void;
  /** Ends it if it has not left. */
  readonly giveUp: (why: Error) => void;
}

const isBeingMade = (socket: Socket): boolean =>
  socket.connecting || ('secureConnecting' in socket && socket.secureConnecting === true);

/** Calls back once, and at once where there is nothing to wait for. */
const whenItStands = (socket: Socket, go: (error?: Error) => void): void => {
  if (!isBeingMade(socket)) return go();
  const stands = socket instanceof TLSSocket ? 'secureConnect' : 'connect';
  const settle = (error?: Error): void => {
    socket.off(stands, settled).off('error', settle).off('close', closed);
    go(error);
  };
  const settled = (): void => settle();
  const closed = (): void => settle(new Error('the connection was closed while it was being made'));
  socket.once(stands, settled).once('error', settle).once('close', closed);
};

/** Back to the agent's others, if it is of use to them. */
const handBack = (socket: Socket): void => {
  if (isBeingMade(socket)) socket.destroy();
  else process.nextTick(() => socket.emit('free'));
};

/** As the request receives a connection from its agent, or hears why there is none. */
const receiverOf = (request: ClientRequest): ((socket: Socket | null, error?: Error) => void) => {
  const receive: unknown = Reflect.get(request, 'onSocket');
  if (typeof receive !== 'function') throw new TypeError('a request of Node takes its connection by `onSocket`');
  return (socket, error) => void Reflect.apply(receive, request, [socket, error]);
};

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** TLS lies on a connection, and may lie on TLS to a proxy: the connection of TCP is the last one below. */
const lowest = (handle: object): object => {
  const below: unknown = Reflect.get(handle, '_parent');
  return isObject(below) ? lowest(below) : handle;
};

/**
 * From now on the connection is reset when it is closed, as by `resetAndDestroy()`: what still lies in the system's
 * buffers is thrown away, and the other side is told. Node offers that for plain sockets only (ERR_INVALID_HANDLE_TYPE
 * for TLS), and there it ends with two errors for one request; so the handle that both have below them is told. A
 * connection that already ends in order cannot be reset any more.
 */
const resetsWhenClosed = (socket: Socket): void => {
  const handle: unknown = Reflect.get(socket, '_handle');
  if (!isObject(handle) || socket.writableEnded) return;
  const tcp = lowest(handle);
  const reset: unknown = Reflect.get(tcp, 'reset');
  if (typeof reset === 'function') Reflect.set(tcp, 'close', reset);
};

/**
 * Holds a request back until its connection stands, and lets it go unless `refusal` says otherwise. Until then all that
 * was written to it lies in the request itself: so its first byte leaves right then, or never. A request without a
 * connection tells nobody that it was destroyed; here it is told that there will be none.
 */
export const hold = (request: ClientRequest, refusal: () => Error | null): Held => {
  const receive = receiverOf(request);
  let waitsFor: Socket | null = null;
  let left = false;
  const giveUp = (why: Error): void => {
    if (left || request.destroyed) return;
    request.destroy(why);
    receive(null, why);
    if (waitsFor) handBack(waitsFor);
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
    whenItStands(socket, (failed) => {
      if (request.destroyed) handBack(socket);
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
