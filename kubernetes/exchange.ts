import { request as requestBy, type Agent, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Transport } from './link.ts';

type Answer = Awaited<ReturnType<Transport>>;

/** One request as it is to go over the wire; header names in any case. */
export interface Outgoing {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Way {
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

/** A request that waits for a connection says nothing when it is destroyed: whoever gave it up does not wait for its word. */
const answerTo = (outgoing: Outgoing, { agent, signal }: Way): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const options = { method: outgoing.method, headers: headersOf(outgoing), agent, ...(signal && { signal }) };
    const request = requestBy(outgoing.url, options);
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    request.on('error', reject).once('response', resolve).end(outgoing.body);
  });

const unzipped = (answer: IncomingMessage): Readable => (answer.headers['content-encoding'] === 'gzip' ? pipeline(answer, createGunzip(), () => undefined) : answer);

const textIn = async (stream: Readable): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

const single = (headers: IncomingHttpHeaders): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]));

/** Sends one request, once, and reads its whole answer. @throws what Node throws when there is none */
export const exchange = async (outgoing: Outgoing, way: Way): Promise<Answer> => {
  const answer = await answerTo(outgoing, way);
  return { status: answer.statusCode ?? 0, headers: single(answer.headers), body: await textIn(unzipped(answer)) };
};
