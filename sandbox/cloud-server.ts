import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';

/** A simulated cloud behind a real socket, for SDKs and command lines that use its address as their endpoint. */
export interface CloudServer {
  readonly url: string;
  /** The traffic so far: calls by name, and bytes of the responses. */
  readonly traffic: () => { readonly calls: Readonly<Record<string, number>>; readonly bytes: number };
  readonly close: () => Promise<void>;
}

/**
 * The response to a call, and the name under which the call counts. `cut` means that the caller gets no response: the
 * connection breaks, or stays silent.
 */
export interface CloudAnswer {
  readonly call: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly cut: 'drop' | 'hang' | null;
}

export interface CloudServerSettings {
  /** 0 selects a free port. */
  readonly port?: number;
  /** PEM texts. Without them, the server uses plain HTTP. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

/** Answers the call of a request, whose body has been read. */
export type AnswerCall = (request: IncomingMessage, body: string) => CloudAnswer | Promise<CloudAnswer>;

const send = (response: ServerResponse, { status, headers, body, cut }: CloudAnswer): void => {
  if (cut === 'drop') response.destroy();
  if (cut === null) response.writeHead(status, headers).end(body);
};

const listenOn = async (server: Server, port: number): Promise<number> => {
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
};

/**
 * Returns a function that closes a server immediately, including connections without a request or without a complete
 * TLS handshake.
 */
export const createCloser = (server: Server): (() => Promise<void>) => {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
};

/** Listens on 127.0.0.1. */
export const openCloudServer = async (
  answer: AnswerCall,
  { port = 0, tls }: CloudServerSettings = {},
): Promise<CloudServer> => {
  const calls: Record<string, number> = {};
  let bytes = 0;
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answered = await answer(request, await text(request));
    calls[answered.call] = (calls[answered.call] ?? 0) + 1;
    bytes += Buffer.byteLength(answered.body);
    send(response, answered);
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void =>
    void respond(request, response).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : undefined),
    );
  const server = tls ? createHttpsServer(tls, listener) : createHttpServer(listener);
  const close = createCloser(server);
  const bound = await listenOn(server, port);
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${bound}`,
    traffic: () => ({ calls: { ...calls }, bytes }),
    close,
  };
};
