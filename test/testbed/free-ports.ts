import { once } from 'node:events';
import type { Server } from 'node:net';
import { createServer } from 'node:net';

const portOf = (server: Server): number => {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no free port');
  return address.port;
};

/** Returns this many free ports of 127.0.0.1. All are held at the same time, so that they differ. */
export const freePorts = async (count: number): Promise<readonly number[]> => {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map(portOf);
  await Promise.all(servers.map(async (server) => once(server.close(), 'close')));
  return ports;
};
