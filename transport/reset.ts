import type { Socket } from 'node:net';

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** TLS lies on a connection, and may lie on TLS to a proxy: the connection of TCP is the last one below. */
const lowest = (handle: object): object => {
  const below: unknown = Reflect.get(handle, '_parent');
  return isObject(below) ? lowest(below) : handle;
};

/**
 * From now on the connection is reset when it is closed, as by `resetAndDestroy()`: what still lies in the system's buffers is
 * thrown away, and the other side is told. Node offers that for plain sockets only (ERR_INVALID_HANDLE_TYPE for TLS), and there it
 * ends with two errors for one request; so the handle that both have below them is told. A connection that already ends
 * in order cannot be reset any more.
 */
export const resetsWhenClosed = (socket: Socket): void => {
  const handle: unknown = Reflect.get(socket, '_handle');
  if (!isObject(handle) || socket.writableEnded) return;
  const tcp = lowest(handle);
  const reset: unknown = Reflect.get(tcp, 'reset');
  if (typeof reset === 'function') Reflect.set(tcp, 'close', reset);
};
