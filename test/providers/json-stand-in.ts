import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | null;
}

export interface Answered {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A service of a cloud on a socket of this computer, that remembers what it was asked. */
export interface JsonStandIn {
  readonly url: string;
  readonly asked: readonly Asked[];
  readonly close: () => Promise<void>;
}

const readRequest = async (request: IncomingMessage): Promise<Asked> => {
  await text(request);
  return { method: request.method ?? '', url: request.url ?? '', authorization: request.headers.authorization ?? null };
};

export const openStandIn = async (answer: (asked: Asked) => Answered): Promise<JsonStandIn> => {
  const asked: Asked[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const question = await readRequest(request);
    asked.push(question);
    const { status = 200, body = {}, headers = {} } = answer(question);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  const server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
