import { z } from 'zod';
import { shorten } from '../fencing/model/reason.ts';
import { Unavailable, CloudfenceError, PermissionDenied, Refused, Throttled } from '../fencing/model/errors.ts';

/**
 * A Node.js system error: a connection could not be established, or it broke.
 * https://nodejs.org/api/errors.html#class-systemerror
 */
const systemError = z.object({
  code: z.string().regex(/^[A-Z][A-Z_0-9]+$/),
  hostname: z.string().optional(),
  address: z.string().optional(),
  port: z.number().optional(),
  host: z.string().optional(),
});

type SystemError = z.infer<typeof systemError>;

/**
 * The fields in which one error wraps others. Each SDK wraps errors in its own way. If all addresses of a name were
 * tried, `errors` contains one error for each address.
 */
const wrapping = z.object({ cause: z.unknown().optional(), errors: z.array(z.unknown()).optional() });

const MOST_WRAPPINGS = 8;

const namesAddress = ({ hostname, address, host }: SystemError): boolean => (hostname ?? address ?? host) !== undefined;

/**
 * Returns the first system error that names a host or an address, or else any system error. The inner errors contain
 * more details: an error about several addresses has a code but no address.
 */
const systemErrorIn = (caught: unknown, depth = 0): SystemError | null => {
  const here = systemError.safeParse(caught).data ?? null;
  if ((here && namesAddress(here)) || depth > MOST_WRAPPINGS) return here;
  const { cause, errors = [] } = wrapping.safeParse(caught).data ?? {};
  const inner = [cause, ...errors].map((one) => (one === undefined ? null : systemErrorIn(one, depth + 1)));
  return inner.find((one) => one !== null && namesAddress(one)) ?? here ?? inner.find((one) => one !== null) ?? null;
};

const addressOf = ({ hostname, address, port, host }: SystemError): string | null => {
  if (hostname !== undefined) return hostname;
  return address === undefined ? (host ?? null) : `${address}${port === undefined ? '' : `:${port}`}`;
};

/**
 * Describes why there is no answer: the system's code and the host, such as `ECONNREFUSED 10.0.0.1:443`. Returns null
 * if the network is not the cause. `asked` is the intended host, for errors that contain none.
 */
export const describeNetworkError = (caught: unknown, asked: string | null = null): string | null => {
  const found = systemErrorIn(caught);
  if (!found) return null;
  const address = addressOf(found);
  const via =
    asked !== null && address !== null && address !== asked && !address.startsWith(asked) ? ` (${asked})` : '';
  return `${found.code}${address === null && asked === null ? '' : ` ${address ?? asked}`}${via}`;
};

/** JavaScript's own errors. A library throws them when it cannot read an answer, and quotes the answer. */
const RAW: ReadonlySet<string> = new Set(['RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError']);

/**
 * Returns whether a library failed to read an answer. Its message quotes the answer, which may be any page, so it must
 * not be shown to people.
 */
export const isUnreadableAnswer = (caught: unknown): boolean => caught instanceof Error && RAW.has(caught.name);

export const UNREADABLE_ANSWER = 'an answer that cannot be read';

const LONGEST_SENTENCE = 2_000;

/**
 * Returns a service's own sentence: the first line of its message. The following lines may quote the request that the
 * service received, including its signature. Returns an empty text if the message is not a string. If an answer has two
 * messages, the AWS SDK returns a list.
 */
export const firstLineOf = (message: unknown): string => {
  const [line = ''] = typeof message === 'string' ? message.trim().split(/[\r\n]/, 1) : [];
  return shorten(line, LONGEST_SENTENCE);
};

/**
 * Yields the pages, but at most `most` of them. Without this limit, a server that always announces another page would
 * never finish. A list that was read only in part is not an answer.
 *
 * @throws Unavailable if there are more than `most` pages
 */
export async function* limitPages<T>(pages: AsyncIterable<T>, most: number, list: string): AsyncGenerator<T> {
  let count = 0;
  for await (const page of pages) {
    count += 1;
    if (count > most) throw new Unavailable(`${list} has more than ${most} pages, which is the limit`);
    yield page;
  }
}

/** One call to a service of a cloud, without that service's SDK. */
export interface HttpCall {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly url: string;
  /** The name of the call in messages, which is its permission. */
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface HttpAnswer {
  readonly status: number;
  readonly header: (name: string) => string | null;
  readonly text: string;
}

/** Sends a call with the credentials of its cloud, and returns any answer. @throws CloudfenceError if there is none */
export type SendCall = (call: HttpCall, signal: AbortSignal) => Promise<HttpAnswer>;

const isGood = ({ status }: HttpAnswer): boolean => status >= 200 && status < 300;

/** Translates an answer by its status, never by its text. */
const toCloudfenceError = ({ status }: HttpAnswer, name: string): CloudfenceError => {
  const message = `${name} returned status ${status}`;
  if (status === 401 || status === 403) return new PermissionDenied(message);
  if (status === 429) return new Throttled(message);
  return status >= 400 && status < 500 ? new Refused(message) : new Unavailable(message);
};

/** Returns the answer if it is a success. @throws PermissionDenied, Throttled, Refused, Unavailable */
export const requireSuccess = (answer: HttpAnswer, { name }: Pick<HttpCall, 'name'>): HttpAnswer => {
  if (isGood(answer)) return answer;
  throw toCloudfenceError(answer, name);
};

/** Returns the error for a call that got no answer. */
export const noAnswerError = (caught: unknown, { name, url }: Pick<HttpCall, 'name' | 'url'>): CloudfenceError =>
  caught instanceof CloudfenceError
    ? caught
    : new Unavailable(
        `${name} got no response: ${describeNetworkError(caught, new URL(url).host) ?? new URL(url).host}`,
        { cause: caught },
      );
