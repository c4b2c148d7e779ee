import { z } from 'zod';
import { CloudfenceError, Denied, Refused, Unavailable } from '../../fencing/model/errors.ts';
import { jsonIn } from '../../fencing/model/json-text.ts';
import { noAnswer, sentenceOf } from '../../transport/no-answer.ts';

/** What Compute Engine answers when something is wrong, in fencing's words. By code and reason, never by message. */

/** The SDK's error: a gRPC code whatever the wire, and the HTTP status when there was an answer. */
const thrown = z.object({ code: z.number(), httpStatusCode: z.number().optional() });

/** The body of an answer. https://cloud.google.com/compute/docs/api/troubleshooting */
const answer = z.object({
  error: z.object({
    code: z.number().optional(),
    errors: z.array(z.object({ domain: z.string().optional(), reason: z.string() })).default([]),
  }),
});

/** Under this key the SDK keeps the body: of its reasons, it hands on none. */
const BODY = Symbol.for('google-gax.rawHttpResponsePayload');

const errorIn = (caught: unknown) =>
  caught instanceof Error ? (answer.safeParse(jsonIn(Reflect.get(caught, BODY))).data?.error ?? null) : null;

/** The first reason in the answer, such as `notFound`, or null when nothing that speaks this API has answered. */
export const reasonOf = (caught: unknown): string | null => errorIn(caught)?.errors[0]?.reason ?? null;

export const statusOf = (caught: unknown): number | null => thrown.safeParse(caught).data?.httpStatusCode ?? null;

/** The service itself says that there is no such thing. A page of something between us and it is not its word. */
export const isNotFound = (caught: unknown): boolean =>
  statusOf(caught) === 404 && errorIn(caught)?.code === 404 && reasonOf(caught) === 'notFound';

/** All else that goes this way asks for credentials. */
export const isCompute = ({ pathname }: URL): boolean => pathname.startsWith('/compute/');

/** The request that failed, as far down as the transport keeps it. */
const request = z.object({ cause: z.object({ config: z.object({ url: z.instanceof(URL) }) }) });

/** Declined where a token was asked for: such a service says so with a plain 400. */
const declinedToken = (caught: unknown, status: number): boolean => {
  const url = request.safeParse(caught).data?.cause.config.url;
  return url !== undefined && !isCompute(url) && status >= 400 && status < 500;
};

/** Reasons that come with a status of the 400 class although nothing is wrong with the call. */
const BUSY: ReadonlySet<string> = new Set([
  'backendError',
  'internalError',
  'quotaExceeded',
  'rateLimitExceeded',
  'userRateLimitExceeded',
  'resourceNotReady',
  'operationInProgress',
]);

/** By which the SDK counts, whatever the wire. https://grpc.io/docs/guides/status-codes */
const UNAUTHENTICATED = 16;
const PERMISSION_DENIED = 7;

/**
 * After its retries the SDK keeps no more than a sentence about all of them: for people, what the network said is in
 * there.
 */
const networkIn = (caught: unknown): string | null => {
  const sentence = caught instanceof Error ? sentenceOf(caught.message) : '';
  return /failed, reason: (?<network>.+?)(?= {2}before|, code:|$)/.exec(sentence)?.groups?.['network'] ?? null;
};

/**
 * For people. A sentence is the service's own where a reason stands beside it: it says what was missing, and for which
 * resource.
 */
const inWords = (caught: unknown, call: string, reason: string | null, status: number): string => {
  const host = request.safeParse(caught).data?.cause.config.url.host ?? null;
  if (status === 0 && reason === null)
    return `${call} was not answered: ${noAnswer(caught, host) ?? networkIn(caught) ?? host ?? 'nothing is known of why'}`;
  const sentence = reason !== null && caught instanceof Error ? sentenceOf(caught.message) : '';
  return `${call} answered ${reason ?? status}${sentence === '' ? '' : `: ${sentence}`}`;
};

/**
 * 401 and 403 are about permission unless their reason is a limit; other 4xx decline this very call; 429 and 5xx are
 * the other side's trouble. Without an answer there is nothing to be known: unavailable.
 */
const toCloudfenceError = (caught: unknown, call: string): CloudfenceError => {
  const ours = ourOwn(caught);
  if (ours) return ours;
  const { code = null, httpStatusCode: status = 0 } = thrown.safeParse(caught).data ?? {};
  const reason = reasonOf(caught);
  const message = inWords(caught, call, reason, status);
  if (status === 429 || status >= 500 || (reason !== null && BUSY.has(reason)))
    return new Unavailable(message, { cause: caught });
  if (code === UNAUTHENTICATED || code === PERMISSION_DENIED || declinedToken(caught, status))
    return new Denied(message, { cause: caught });
  return status >= 400 ? new Refused(message, { cause: caught }) : new Unavailable(message, { cause: caught });
};

/** What was thrown on the way to the wire comes back wrapped by the SDK, more than once. */
const ourOwn = (caught: unknown): CloudfenceError | null => {
  if (caught instanceof CloudfenceError) return caught;
  return caught instanceof Error && caught.cause !== undefined ? ourOwn(caught.cause) : null;
};

/**
 * The SDK cancels a request that the signal ends, and yet goes on waiting for credentials that it was promised: whoever
 * gave up waits for neither.
 */
export const unlessGivenUp = async <T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> => {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(signal.reason);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([call(), promise]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
};

/** Runs one call, once there are credentials and until the signal ends it, and translates what it throws. */
export const withCloudfenceErrors = async <T>(
  { ready }: { readonly ready: () => Promise<void> },
  call: string,
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<T> => {
  try {
    return await unlessGivenUp(signal, () => ready().then(run));
  } catch (caught) {
    throw toCloudfenceError(caught, call);
  }
};
