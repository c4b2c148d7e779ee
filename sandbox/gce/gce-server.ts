import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { handleGce } from './rest.ts';
import type { GceWorld } from './state.ts';

/** The simulated Compute Engine on a real socket, for clients that use its address. */
export interface GceServer {
  readonly url: string;
  /** The traffic so far: calls by method, and bytes of the responses. */
  readonly traffic: () => { readonly calls: Readonly<Record<string, number>>; readonly bytes: number };
  readonly close: () => Promise<void>;
}

/** Called for each request before it has any effect. */
type Arrived = (headers: IncomingHttpHeaders) => void;
type Count = (method: string, sent: number) => void;

/**
 * Listens on 127.0.0.1; port 0 takes a free one. Virtual time is the caller's to advance; waiting for an operation
 * passes some by itself.
 */
export const openGceServer = async (
  world: GceWorld,
  port = 0,
  arrived: Arrived = () => undefined,
): Promise<GceServer> => {
  const calls: Record<string, number> = {};
  let bytes = 0;
  const count: Count = (method, sent) => {
    calls[method] = (calls[method] ?? 0) + 1;
    bytes += sent;
  };
  const server = createServer((request, response) => void answer(world, request, response, arrived, count));
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://127.0.0.1:${bound}`,
    traffic: () => ({ calls: { ...calls }, bytes }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

const answer = async (
  world: GceWorld,
  request: IncomingMessage,
  response: ServerResponse,
  arrived: Arrived,
  count: Count,
): Promise<void> => {
  const call = { method: request.method ?? '', url: request.url ?? '', body: await text(request) };
  arrived(request.headers);
  const { status, body, cut, method } = handleGce(world, call);
  count(method, Buffer.byteLength(body));
  if (cut === 'drop') response.destroy();
  if (cut === null) response.writeHead(status, { 'content-type': 'application/json; charset=UTF-8' }).end(body);
};
