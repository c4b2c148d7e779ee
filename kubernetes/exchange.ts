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
import { underPermit } from '../transport/under-permit.ts';

/**
 * One pool for all calls: the client on its own makes a new agent, and so a new TLS connection, for each request.
 * An idle connection is kept for less than load balancers keep theirs, because one of theirs that ended is found out
 * only by a write that fails. TCP's own probes begin after 30 s, as in Kubernetes' clients in Go.
 */
export const POOL = { keepAlive: true, keepAliveMsecs: 30_000, maxSockets: 4, timeout: 10_000 } as const;

/** Ends a pool as its calls end: idle connections are closed now, the others when their answer is there. */
export const retire = (agent: Agent): void => {
  agent.maxFreeSockets = 0;
  for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
};

/** A way to one API server: where it is, how a request proves who asks, and how it gets there. */
export interface Link {
  readonly server: string;
  /** Nobody vouches for the server: its certificate is not looked at. */
  readonly unverified: () => boolean;
  readonly authentication: SecurityAuthentication;
  /** Sends one request, once, and under its permit if it has one. */
  readonly send: (request: RequestContext, permit: Permit | null) => Promise<ResponseContext>;
  readonly close: () => Promise<void>;
}

export const bearer = (token: () => Promise<string>): SecurityAuthentication => ({
  getName: () => 'bearer token',
  applySecurityAuthentication: async (request) => request.setHeaderParam('Authorization', `Bearer ${await token()}`),
});

/** Another means of transport than HTTPS, such as an API server in the same process. Header names are lower-case. */
export type Transport = (
  request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  },
  signal: AbortSignal | undefined,
) => Promise<{ readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string }>;

/** A request's body; empty for none. @throws InvalidInput */
const textOf = (request: RequestContext): string => {
  const body = request.getBody();
  if (body === undefined) return '';
  if (typeof body !== 'string') throw new InvalidInput('only text can be sent to the API server');
  return body;
};

const pathOf = (request: RequestContext): string => {
  const { pathname, search } = new URL(request.getUrl());
  return `${pathname}${search}`;
};

const lowerCased = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** For messages. */
export const lineOf = (request: RequestContext): string =>
  `${request.getHttpMethod()} ${new URL(request.getUrl()).pathname}`;

/** A whole answer in the client's shape. */
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
  authentication: bearer(async () => token),
  send: async (request, permit) => {
    const wire = {
      method: request.getHttpMethod(),
      path: pathOf(request),
      headers: lowerCased(request.getHeaders()),
      body: textOf(request),
    };
    const signal = request.getSignal();
    if (!permit) return responseOf(await transport(wire, signal));
    const carried = await underPermit({ name: lineOf(request), permit, signal }, async (passage) => {
      passage.check();
      return transport(wire, passage.signal);
    });
    return responseOf(carried);
  },
  close: async () => undefined,
});

type Answer = Awaited<ReturnType<Transport>>;

/** One request as it is to go over the wire; header names in any case. */
interface Outgoing {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Way {
  /** Makes the connections, and so decides whether they are TLS. */
  readonly agent: Agent;
  readonly signal: AbortSignal | undefined;
}

/** The length is said for every method: of a DELETE Node would send the body, ours are preconditions, and no length. */
const headersOf = ({ headers, body }: Outgoing): Readonly<Record<string, string | number>> => ({
  'Accept-Encoding': 'gzip',
  ...headers,
  ...(body !== '' && { 'Content-Length': Buffer.byteLength(body) }),
});

/**
 * A request that waits for a connection says nothing when it is destroyed: whoever gave it up does not wait for its
 * word.
 */
const answerTo = (outgoing: Outgoing, { agent, signal }: Way): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const options = { method: outgoing.method, headers: headersOf(outgoing), agent, ...(signal && { signal }) };
    const request = requestBy(outgoing.url, options);
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    request.on('error', reject).once('response', resolve).end(outgoing.body);
  });

const unzipped = (answer: IncomingMessage): Readable =>
  answer.headers['content-encoding'] === 'gzip' ? pipeline(answer, createGunzip(), () => undefined) : answer;

const textIn = async (stream: Readable): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

const single = (headers: IncomingHttpHeaders): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  );

/** Sends one request, once, and reads its whole answer. @throws what Node throws when there is none */
export const exchange = async (outgoing: Outgoing, way: Way): Promise<Answer> => {
  const answer = await answerTo(outgoing, way);
  return { status: answer.statusCode ?? 0, headers: single(answer.headers), body: await textIn(unzipped(answer)) };
};

interface HttpsEnds {
  readonly server: string;
  readonly authentication: SecurityAuthentication;
  /** The shared pool of connections, as it is to be used for the next request. */
  readonly agent: () => Promise<Agent>;
  readonly unverified?: boolean;
}

/**
 * By Node's own HTTPS, which the cloud's SDK has loaded already: the client's own way, undici, is half a megabyte more
 * of code and 20 MB of memory. HTTP/1.1, because an idle HTTP/2 session may be dead when a frozen function thaws.
 */
export const httpsLink = ({ server, authentication, agent, unverified = false }: HttpsEnds): Link => ({
  server,
  unverified: () => unverified,
  authentication,
  send: async (request, permit) => {
    const outgoing = {
      method: request.getHttpMethod(),
      url: request.getUrl(),
      headers: request.getHeaders(),
      body: textOf(request),
    };
    const pool = await agent();
    const signal = request.getSignal();
    if (!permit) return responseOf(await exchange(outgoing, { agent: pool, signal }));
    const call = { name: lineOf(request), permit, signal };
    return responseOf(
      await underPermit(call, (passage) =>
        exchange(outgoing, { agent: passage.through(pool), signal: passage.signal }),
      ),
    );
  },
  // Where not even the pool can be had, there is nothing to close.
  close: () => agent().then(retire, () => undefined),
});
