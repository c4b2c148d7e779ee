import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { handleArm } from './arm.ts';
import type { AzureCloudWorld } from './state.ts';

/** The simulated ARM on a real socket, for SDKs that use its address as their endpoint. */
export interface ArmServer {
  readonly url: string;
  /** The number of calls so far, by name. */
  readonly calls: () => Readonly<Record<string, number>>;
  readonly close: () => Promise<void>;
}

export interface ArmServerSettings {
  /** 0 selects a free port. */
  readonly port?: number;
  /** PEM texts. Without them, the server uses plain HTTP, over which the SDK sends no token. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Called for each request before it has any effect, so that the caller can advance virtual time. */
  readonly arrived?: () => void;
}

/** Listens on 127.0.0.1. */
export const openArmServer = async (
  world: AzureCloudWorld,
  { port = 0, tls, arrived = () => undefined }: ArmServerSettings = {},
): Promise<ArmServer> => {
  const calls: Record<string, number> = {};
  const scheme = tls ? 'https' : 'http';
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    void answer(world, scheme, request, response, arrived, (call) => {
      calls[call] = (calls[call] ?? 0) + 1;
    });
  };
  const server: Server = tls ? createHttpsServer(tls, listener) : createHttpServer(listener);
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return { url: `${scheme}://127.0.0.1:${bound}`, calls: () => ({ ...calls }), close: () => closed(server) };
};

const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

type Count = (call: string) => void;

const answer = async (
  world: AzureCloudWorld,
  scheme: string,
  request: IncomingMessage,
  response: ServerResponse,
  arrived: () => void,
  count: Count,
): Promise<void> => {
  const body = await text(request);
  arrived();
  const url = `${scheme}://${request.headers.host ?? '127.0.0.1'}${request.url ?? '/'}`;
  const { call, answer: said } = handleArm(world, { method: request.method ?? 'GET', url, body });
  count(call);
  if (said.cut === 'drop') response.destroy();
  if (said.cut === null) response.writeHead(said.status, said.headers).end(said.body);
};
