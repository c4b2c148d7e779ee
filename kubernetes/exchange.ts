import { type Agent, type IncomingHttpHeaders, type IncomingMessage, request as requestBy } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import {
  type RequestContext,
  ResponseContext,
  type SecurityAuthentication,
} from '@kubernetes/client-node/dist/gen/index.js';
import { InvalidInput } from '../fencing/model/errors.ts';
import type { Permit } from '../fencing/model/permit.ts';
import { connectAhead, closeUnusedConnections, connectionCount } from '../transport/connections.ts';
import { underPermit } from '../transport/under-permit.ts';

/**
 * Settings of the shared connection pool. Without a shared pool, the client creates a new agent, and therefore a new
 * TLS connection, for each request. The pool closes an idle connection earlier than load balancers do. If the load
 * balancer closed it first, only a failed write would reveal that. TCP keep-alive probes begin after 30 s, as in the
 * Kubernetes clients in Go.
 */
export const POOL_OPTIONS = { keepAlive: true, keepAliveMsecs: 30_000, maxSockets: 24, timeout: 10_000 } as const;

/**
 * Closes a pool without interrupting its calls. Closes idle connections immediately, and all others after their answers
 * have arrived.
 */
export const closeWhenIdle = (agent: Agent): void => {
  agent.maxFreeSockets = 0;
  for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
};

/** A connection to one API server: its address, how a request authenticates, and how it is sent. */
export interface Link {
  readonly server: string;
  /** Returns true if nothing verifies the server's certificate. */
  readonly unverified: () => boolean;
  readonly authentication: SecurityAuthentication;
  /** Sends one request once, under its permit if it has one. */
  readonly send: (request: RequestContext, permit: Permit | null) => Promise<ResponseContext>;
  /**
   * Opens this many connections for the next requests, unless connections are already open. Sends no data. Never fails.
   */
  readonly connect: (count: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

export const bearerAuthentication = (token: () => Promise<string>): SecurityAuthentication => ({
  getName: () => 'bearer token',
  applySecurityAuthentication: async (request) => request.setHeaderParam('Authorization', `Bearer ${await token()}`),
});

/** A transport other than HTTPS, such as an API server in the same process. Header names are lowercase. */
export type Transport = (
  request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  },
  signal: AbortSignal | undefined,
) => Promise<{ readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string }>;

/** Returns a request's body, or an empty string when there is none. @throws InvalidInput */
const textOf = (request: RequestContext): string => {
  const body = request.getBody();
  if (body === undefined) return '';
  if (typeof body !== 'string') throw new InvalidInput('Cloudfence sends only text to the API server');
  return body;
};

const pathOf = (request: RequestContext): string => {
  const { pathname, search } = new URL(request.getUrl());
  return `${pathname}${search}`;
};

const lowerCased = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** Returns the request line, for messages. */
export const requestLine = (request: RequestContext): string =>
  `${request.getHttpMethod()} ${new URL(request.getUrl()).pathname}`;

/** Converts a complete answer to the client's response type. */
const responseOf = ({ status, headers, body }: Awaited<ReturnType<Transport>>): ResponseContext =>
  new ResponseContext(
    status,
    { ...headers },
    {
      text: async () => body,
      binary: async () => Buffer.from(body),
      stream: () => new Blob([body]).stream(),
    },
  );

export const transportLink = (transport: Transport, token: string): Link => ({
  server: 'https://in-process.invalid',
  unverified: () => false,
  authentication: bearerAuthentication(async () => token),
  send: async (request, permit) => {
    const wire = {
      method: request.getHttpMethod(),
      path: pathOf(request),
      headers: lowerCased(request.getHeaders()),
      body: textOf(request),
    };
    const signal = request.getSignal();
    if (!permit) return responseOf(await transport(wire, signal));
    const carried = await underPermit({ name: requestLine(request), permit, signal }, async (passage) => {
      passage.check();
      return transport(wire, passage.signal);
    });
    return responseOf(carried);
  },
  connect: async () => undefined,
  close: async () => undefined,
});

type HttpResponse = Awaited<ReturnType<Transport>>;

/** One request as it is sent. Header names may be in any case. */
interface OutgoingRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Route {
  /** Creates the connections, and therefore determines whether they use TLS. */
  readonly agent: Agent;
  readonly signal: AbortSignal | undefined;
}

/**
 * Sets Content-Length for every method. Node.js sends the body of a DELETE without a length, and these requests carry
 * preconditions in the body.
 */
const headersOf = ({ headers, body }: OutgoingRequest): Readonly<Record<string, string | number>> => ({
  'Accept-Encoding': 'gzip',
  ...headers,
  ...(body !== '' && { 'Content-Length': Buffer.byteLength(body) }),
});

/**
 * Sends a request and waits for its answer. Rejects as soon as the signal aborts, because a request that still waits
 * for a connection emits no event when it is destroyed.
 */
const waitForAnswer = (outgoing: OutgoingRequest, { agent, signal }: Route): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const options = { method: outgoing.method, headers: headersOf(outgoing), agent, ...(signal && { signal }) };
    const request = requestBy(outgoing.url, options);
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    request.on('error', reject).once('response', resolve).end(outgoing.body);
  });

const unzipped = (answer: IncomingMessage): Readable =>
  answer.headers['content-encoding'] === 'gzip' ? pipeline(answer, createGunzip(), () => undefined) : answer;

const readStream = async (stream: Readable): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

const singleHeaders = (headers: IncomingHttpHeaders): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  );

/** Sends one request once and reads its complete answer. @throws the error of Node.js when there is no answer */
export const sendRequest = async (outgoing: OutgoingRequest, way: Route): Promise<HttpResponse> => {
  const answer = await waitForAnswer(outgoing, way);
  return {
    status: answer.statusCode ?? 0,
    headers: singleHeaders(answer.headers),
    body: await readStream(unzipped(answer)),
  };
};

interface HttpsLinkOptions {
  readonly server: string;
  readonly authentication: SecurityAuthentication;
  /** Returns the shared pool of connections for the next request. */
  readonly agent: () => Promise<Agent>;
  readonly unverified?: boolean;
}

/**
 * Creates a link over the HTTPS of Node.js, which the cloud's SDK has already loaded. The client's own transport,
 * undici, would add half a megabyte of code and 20 MB of memory. The link uses HTTP/1.1, because an idle HTTP/2 session
 * may be dead after a function was frozen.
 */
export const httpsLink = ({ server, authentication, agent, unverified = false }: HttpsLinkOptions): Link => {
  const connect = async (count: number): Promise<void> => {
    const pool = await agent();
    const origin = new URL(server);
    if (connectionCount(pool, origin) === 0) connectAhead(pool, origin, count);
  };
  // If there is no pool, there is nothing to close.
  const close = async (): Promise<void> => {
    const pool = await agent().catch(() => null);
    if (!pool) return;
    closeUnusedConnections(pool);
    closeWhenIdle(pool);
  };
  return { server, unverified: () => unverified, authentication, send: sendOver(agent), connect, close };
};

/**
 * Returns the function with which a link sends requests. Each request gets its connection from the pool. If the request
 * has a permit, it is checked then.
 */
const sendOver =
  (agent: HttpsLinkOptions['agent']): Link['send'] =>
  async (request, permit) => {
    const outgoing = {
      method: request.getHttpMethod(),
      url: request.getUrl(),
      headers: request.getHeaders(),
      body: textOf(request),
    };
    const pool = await agent();
    const signal = request.getSignal();
    if (!permit) return responseOf(await sendRequest(outgoing, { agent: pool, signal }));
    const call = { name: requestLine(request), permit, signal };
    return responseOf(
      await underPermit(call, (passage) =>
        sendRequest(outgoing, { agent: passage.through(pool), signal: passage.signal }),
      ),
    );
  };
