import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** How far away a server is (ms): the round trip to it, and how long it takes to answer. */
export interface Distance {
  readonly roundTrip: number;
  readonly service: number;
}

/** A proxy in front of a local server that makes it as far away as a real one. */
export interface DelayProxy {
  readonly port: number;
  /** Bytes on the wire in both directions. */
  readonly bytes: () => number;
  readonly close: () => void;
}

export interface ProxySettings extends Distance {
  /**
   * Round trips of a new connection before its first byte is sent: one for TCP, and one more if TLS is only imagined.
   */
  readonly opening: 1 | 2;
}

/** Writes bytes in order, each at its time. */
const writerTo = (socket: Socket): ((bytes: Buffer, at: number) => void) => {
  let earlier: Promise<void> = Promise.resolve();
  const writeAfter = async (before: Promise<void>, bytes: Buffer, at: number): Promise<void> => {
    await before;
    const ms = at - performance.now();
    if (ms > 0) await delay(ms);
    if (!socket.destroyed && !socket.writableEnded) socket.write(bytes);
  };
  return (bytes, at) => {
    earlier = writeAfter(earlier, bytes, at);
  };
};

/**
 * Connects a client to the server. The time of the server counts from the moment at which the last bytes of the client
 * reach it. The first bytes of a real TLS connection are a greeting, for which the server takes no such time.
 */
const join = (client: Socket, port: number, { roundTrip, service, opening }: ProxySettings): Socket => {
  const opened = performance.now() + opening * roundTrip;
  const server = connect(port, '127.0.0.1').setNoDelay();
  const [toServer, toClient] = [writerTo(server), writerTo(client.setNoDelay())];
  let arrived = 0;
  let turns = opening === 1 ? 0 : 1;
  client.on('data', (bytes) => {
    arrived = Math.max(performance.now(), opened) + roundTrip / 2;
    turns += 1;
    toServer(bytes, arrived);
  });
  server.on('data', (bytes) => {
    const answered = turns > 1 ? arrived + service : arrived;
    toClient(bytes, Math.max(performance.now(), answered) + roundTrip / 2);
  });
  client.on('error', () => server.destroy()).on('close', () => server.destroy());
  server
    .on('error', () => client.destroy())
    .on('close', () => void delay(roundTrip + service).then(() => client.end()));
  return server;
};

export const openDelayProxy = async (port: number, settings: ProxySettings): Promise<DelayProxy> => {
  const sockets: Socket[] = [];
  const proxy = createServer((client) => sockets.push(client, join(client, port, settings))).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  return {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    bytes: () =>
      sockets.filter((_, nth) => nth % 2 === 0).reduce((sum, one) => sum + one.bytesRead + one.bytesWritten, 0),
    close: () => {
      proxy.close();
      for (const socket of sockets) socket.destroy();
    },
  };
};
