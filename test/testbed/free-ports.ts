import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/**
 * The ports come in blocks, below those that systems give to outgoing connections (Linux: from 32768, macOS: from
 * 49152). Among those, any connection of any process could take a port before the program that will listen on it has
 * started. https://docs.kernel.org/networking/ip-sysctl.html (ip_local_port_range)
 */
const LOWEST = 20_000;
const BLOCK = 16;
const BLOCKS = 798;
const ATTEMPTS = 100;

const listenOn = async (port: number): Promise<Server | null> => {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return null;
    throw error;
  }
};

/**
 * Takes the ports for a moment. Null if another program has one of them. The server of the first port keeps it until
 * this process ends.
 */
const tryOut = async ([first = 0, ...ports]: readonly number[]): Promise<readonly number[] | null> => {
  const guard = await listenOn(first);
  if (guard === null) return null;
  guard.unref();
  const servers = await Promise.all(ports.map(listenOn));
  await Promise.all(servers.map(async (server) => server && once(server.close(), 'close')));
  return servers.includes(null) ? null : ports;
};

/**
 * Returns this many free ports of 127.0.0.1. No other caller gets them while this process lives, because it keeps
 * another port of their block.
 */
export const freePorts = async (count: number, attempts = ATTEMPTS): Promise<readonly number[]> => {
  if (count >= BLOCK || attempts === 0) throw new Error(`found no block with ${count} free ports from ${LOWEST} on`);
  const first = LOWEST + BLOCK * randomInt(BLOCKS);
  const ports = await tryOut(Array.from({ length: count + 1 }, (_, at) => first + at));
  return ports ?? freePorts(count, attempts - 1);
};
