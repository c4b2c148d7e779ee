import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { handleArm } from './arm.ts';
import type { AzureCloudWorld } from './state.ts';

/** The sandbox's ARM behind a real socket, for SDKs that are given its address as their endpoint. */
export interface ArmServer {
  readonly url: string;
  /** Calls that went through so far, by name. */
  readonly calls: () => Readonly<Record<string, number>>;
  readonly close: () => Promise<void>;
}

export interface ArmServerSettings {
  /** 0 takes a free one. */
  readonly port?: number;
  /** PEM texts; without them the door speaks plain HTTP, to which the SDK sends no token. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Called at each request that has arrived, before it has any effect: virtual time is the caller's to advance. */
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
