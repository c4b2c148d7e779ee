import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { buffer } from 'node:stream/consumers';

export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | null;
}

export interface Request extends ReceivedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The default is a status of 200 and JSON. A text is sent as it is. */
export interface Answered {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A service of a cloud on a local socket. It remembers its requests. */
export interface StandIn {
  readonly url: string;
  readonly asked: readonly ReceivedRequest[];
  readonly close: () => Promise<void>;
}

/** How long an idle connection stays open (ms): longer than any test takes. */
const IDLE_FOR_MS = 600_000;

/** A local socket on a free port. */
const openSocket = async (listener: RequestListener): Promise<Pick<StandIn, 'url' | 'close'>> => {
  const server = createServer({ keepAliveTimeout: IDLE_FOR_MS }, listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const close = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, close };
};

const requestIn = async (incoming: IncomingMessage): Promise<Request> => {
  const { method = '', url = '', headers } = incoming;
  return { method, url, authorization: headers.authorization ?? null, headers, body: await buffer(incoming) };
};

/** If there is no answer, such as from a server behind it, the client sees a closed connection. */
export const openStandIn = async (answer: (request: Request) => Answered | Promise<Answered>): Promise<StandIn> => {
  const asked: ReceivedRequest[] = [];
  const respond = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await requestIn(incoming);
    const { method, url, authorization } = request;
    asked.push({ method, url, authorization });
    const { status = 200, body = {}, headers = {} } = await answer(request);
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  const socket = await openSocket((incoming, response) => {
    respond(incoming, response).catch((error: unknown) => {
      console.error(`${incoming.method} ${incoming.url} gets no answer:`, error);
      response.destroy();
    });
  });
  return { ...socket, asked };
};
