import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { generate } from 'selfsigned';

export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Said {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A TLS server that does one thing late, and reports what arrived of a destructive call. */
export interface SlowFront {
  readonly url: string;
  readonly cert: string;
  /** Every destructive request whose first bytes have arrived. */
  readonly arrived: () => readonly string[];
  readonly connections: () => number;
  readonly resets: () => number;
  /**
   * After this many connections, each for one read, a new connection gets no TLS answer until `release`. It may be one
   * that the client opens ahead.
   */
  readonly holdHandshakes: (afterConnections: number) => void;
  /** A destructive request gets no answer until `release`. */
  readonly holdAnswers: () => void;
  /** A destructive request is redirected to another path. */
  readonly redirect: () => void;
  /** Every answer takes this many ms of real time. */
  readonly delay: (ms: number) => void;
  /** Resolves when something is held. */
  readonly holding: () => Promise<void>;
  readonly release: () => void;
  readonly close: () => Promise<void>;
}

const certificate = () =>
  generate([{ name: 'commonName', value: `slow front ${process.hrtime.bigint()}` }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
    ],
  });

const defaultAuthorities = getCACertificates('default');

/** The SDKs do not accept a certificate for only one client. */
export const trustOnly = (cert: string | null): void =>
  setDefaultCACertificates(cert === null ? defaultAuthorities : [...defaultAuthorities, cert]);

const asked = async (incoming: IncomingMessage): Promise<ReceivedRequest> => ({
  method: incoming.method ?? 'GET',
  url: incoming.url ?? '/',
  headers: Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])),
  body: await text(incoming),
});

const portOf = async (server: Server): Promise<number> => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};

const pipeBoth = (socket: Socket, behind: Socket): void => {
  pipeline(socket, behind, socket, () => undefined);
};

/** `destroys`: whether a request is the one for which the permit is. A body that shows this is read. */
export const openSlowFront = async (
  answer: (asked: ReceivedRequest) => Said,
  destroys: (asked: ReceivedRequest) => boolean,
): Promise<SlowFront> => {
  const { private: key, cert } = await certificate();
  const arrived: string[] = [];
  const sockets = new Set<Socket>();
  const held: (() => void)[] = [];
  let { promise: holding, resolve: nowHolding } = Promise.withResolvers<void>();
  let [handshakesAfter, answersHeld, connections, resets] = [Infinity, false, 0, 0];
  let [redirecting, delayed] = [false, 0];
  const hold = (go: () => void): void => {
    held.push(go);
    nowHolding();
  };
  const reply = (response: ServerResponse, said: Said): void => {
    const close = handshakesAfter < Infinity ? { connection: 'close' } : {};
    response
      .writeHead(said.status, { ...said.headers, ...close, 'content-length': Buffer.byteLength(said.body) })
      .end(said.body);
  };
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await asked(incoming);
    const destroying = destroys(request);
    if (destroying) arrived.push(`${request.method} ${request.url}`);
    if (delayed > 0) await pause(delayed);
    if (destroying && redirecting)
      return void response
        .writeHead(307, { location: `${request.url}${request.url.includes('?') ? '&' : '?'}again=1` })
        .end();
    if (destroying && answersHeld) hold(() => reply(response, answer(request)));
    else reply(response, answer(request));
  };
  const https = createHttpsServer(
    { key, cert },
    (incoming, response) => void serve(incoming, response).catch(() => incoming.destroy()),
  );
  const behind = await portOf(https);
  const tcp = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    connections += 1;
    socket.on('error', ({ code }: NodeJS.ErrnoException) => void (resets += code === 'ECONNRESET' ? 1 : 0));
    const join = (): void => pipeBoth(socket, connect(behind, '127.0.0.1'));
    if (connections > handshakesAfter) hold(join);
    else join();
  });
  const port = await portOf(tcp);
  return {
    url: `https://127.0.0.1:${port}`,
    cert,
    arrived: () => arrived,
    connections: () => connections,
    resets: () => resets,
    holdHandshakes: (afterConnections) => void (handshakesAfter = afterConnections),
    holdAnswers: () => void (answersHeld = true),
    redirect: () => void (redirecting = true),
    delay: (ms) => void (delayed = ms),
    holding: () => holding,
    release: () => {
      [handshakesAfter, answersHeld] = [Infinity, false];
      ({ promise: holding, resolve: nowHolding } = Promise.withResolvers<void>());
      for (const go of held.splice(0)) go();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      tcp.close();
      https.close();
      https.closeAllConnections();
      await once(tcp, 'close');
    },
  };
};
