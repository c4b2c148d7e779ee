import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { quietProcess } from './quiet.ts';

/**
 * A network on which every trip takes exactly one round. All answers wait behind the gate until this process has
 * nothing left to do, and then pass together. So requests that are sent at the same time share a round, requests that
 * wait for an answer take one more, and the number of rounds is the length of the critical path. No time is measured.
 */
export interface Gate {
  /** The number of rounds until now. */
  readonly round: () => number;
  /**
   * Opens a proxy in front of a local server, and returns its port. A new connection takes `opening` rounds before the
   * server sees its first byte: one for TCP, and one more in front of a plain server that stands for a server with TLS.
   * On a server that has TLS, the handshake itself takes its round.
   */
  readonly openProxy: (port: number, opening: number) => Promise<Proxy>;
  readonly close: () => void;
}

export interface Proxy {
  readonly port: number;
  /** The traffic until now. The bytes are those on the wire in both directions. */
  readonly traffic: () => Traffic;
}

export interface Traffic {
  /** The round in which each connection was opened. */
  readonly connectedIn: readonly number[];
  readonly bytes: number;
}

/** What passes after this many rounds. */
interface Held {
  readonly rounds: number;
  readonly pass: () => void;
}

type Hold = (rounds: number, pass: () => void) => void;
type Count = (bytes: Buffer) => void;

const ended = (socket: Socket): boolean => socket.destroyed || socket.writableEnded;

const send = (socket: Socket, bytes: Buffer): void => {
  if (!ended(socket)) socket.write(bytes);
};

/** Connects a client to the server. When one side ends, the other side ends after the last answer has passed. */
const join = (client: Socket, port: number, opening: number, hold: Hold, count: Count) => {
  const early: Buffer[] = [];
  let server: Socket | null = null;
  client.on('data', (bytes) => {
    count(bytes);
    if (server) send(server, bytes);
    else early.push(bytes);
  });
  client.on('error', () => server?.destroy());
  client.on('close', () => server?.destroy());
  hold(opening, () => {
    if (ended(client)) return;
    server = connect(port, '127.0.0.1');
    for (const bytes of early.splice(0)) server.write(bytes);
    passBack(server, client, hold, count);
  });
};

const passBack = (server: Socket, client: Socket, hold: Hold, count: Count): void => {
  let waiting = 0;
  let over = false;
  const endIfOver = (): void => {
    if (over && waiting === 0) client.destroySoon();
  };
  server.on('data', (bytes) => {
    count(bytes);
    waiting += 1;
    hold(1, () => {
      waiting -= 1;
      send(client, bytes);
      endIfOver();
    });
  });
  server.on('error', () => client.destroy());
  server.on('close', () => {
    over = true;
    endIfOver();
  });
};

/** Creates a gate. `passes` is called when a round ends, before its answers pass. */
export const openGate = (passes: () => void): Gate => {
  const quiet = quietProcess();
  const closers: (() => void)[] = [];
  let rounds = 0;
  let held: readonly Held[] = [];
  let pumping = false;
  const pump = async (): Promise<void> => {
    if (pumping) return;
    pumping = true;
    while (held.length > 0) {
      await quiet.settled();
      rounds += 1;
      passes();
      const due = held.filter((one) => one.rounds <= 1);
      held = held.filter((one) => one.rounds > 1).map((one) => ({ ...one, rounds: one.rounds - 1 }));
      for (const { pass } of due) pass();
    }
    pumping = false;
  };
  const hold: Hold = (wait, pass) => {
    quiet.stir();
    held = [...held, { rounds: wait, pass }];
    void pump();
  };
  const openProxy: Gate['openProxy'] = async (port, opening) => {
    const connectedIn: number[] = [];
    let count = 0;
    const clients = new Set<Socket>();
    const server = createServer((client) => {
      connectedIn.push(rounds);
      clients.add(client);
      join(client, port, opening, hold, (bytes) => {
        quiet.stir();
        count += bytes.length;
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    closers.push(() => {
      server.close();
      for (const client of clients) client.destroy();
    });
    const address = server.address();
    return {
      port: typeof address === 'object' ? (address?.port ?? 0) : 0,
      traffic: () => ({ connectedIn: [...connectedIn], bytes: count }),
    };
  };
  return { round: () => rounds, openProxy, close: () => closers.forEach((close) => close()) };
};
