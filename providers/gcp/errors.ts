import { abortOnSignal } from '../../fencing/loop/ports.ts';
import { z } from 'zod';
import { CloudfenceError, PermissionDenied, Refused, Unavailable } from '../../fencing/model/errors.ts';
import { parseJsonOrNull } from '../../fencing/model/json-text.ts';
import { describeNetworkError, firstLineOf } from '../../transport/answers.ts';
import type { DriverFault } from '../../diagnosis/model/facts.ts';

/** Translates the errors of Compute Engine into Cloudfence errors. Uses only codes and reasons, never messages. */

/** The SDK's error: a gRPC code on any transport, and the HTTP status if there was an answer. */
const thrown = z.object({ code: z.number(), httpStatusCode: z.number().optional() });

/** The body of an answer. https://cloud.google.com/compute/docs/api/troubleshooting */
const answer = z.object({
  error: z.object({
    code: z.number().optional(),
    errors: z.array(z.object({ domain: z.string().optional(), reason: z.string() })).default([]),
  }),
});

/** The key under which the SDK keeps the body. The SDK itself does not expose any reason from it. */
const BODY = Symbol.for('google-gax.rawHttpResponsePayload');

const errorIn = (caught: unknown) =>
  caught instanceof Error ? (answer.safeParse(parseJsonOrNull(Reflect.get(caught, BODY))).data?.error ?? null) : null;

/**
 * Returns the first reason in the answer, such as `notFound`. Returns null if no service with this API has answered.
 */
export const errorReasonOf = (caught: unknown): string | null => errorIn(caught)?.errors[0]?.reason ?? null;

export const httpStatusOf = (caught: unknown): number | null => thrown.safeParse(caught).data?.httpStatusCode ?? null;

/**
 * Returns whether the service itself says that the object does not exist. A page from a server in between does not
 * count.
 */
export const isNotFound = (caught: unknown): boolean =>
  httpStatusOf(caught) === 404 && errorIn(caught)?.code === 404 && errorReasonOf(caught) === 'notFound';

/** Returns whether a call goes to Compute Engine. All other requests on this transport ask for credentials. */
export const isComputeUrl = ({ pathname }: URL): boolean => pathname.startsWith('/compute/');

/** The failed request, which the transport stores deep in the error. */
const request = z.object({ cause: z.object({ config: z.object({ url: z.instanceof(URL) }) }) });

/** Returns whether a request for a token was rejected. A token service rejects it with a plain 400. */
const declinedToken = (caught: unknown, status: number): boolean => {
  const url = request.safeParse(caught).data?.cause.config.url;
  return url !== undefined && !isComputeUrl(url) && status >= 400 && status < 500;
};

/** Reasons with a 4xx status although nothing is wrong with the call. */
const BUSY: ReadonlySet<string> = new Set([
  'backendError',
  'internalError',
  'quotaExceeded',
  'rateLimitExceeded',
  'userRateLimitExceeded',
  'resourceNotReady',
  'operationInProgress',
]);

/** The SDK uses gRPC codes on any transport. https://grpc.io/docs/guides/status-codes */
const UNAUTHENTICATED = 16;
const PERMISSION_DENIED = 7;

/** Returns the text of a network error. After its retries, the SDK keeps only one sentence, which contains it. */
const networkIn = (caught: unknown): string | null => {
  const sentence = caught instanceof Error ? firstLineOf(caught.message) : '';
  return /failed, reason: (?<network>.+?)(?= {2}before|, code:|$)/.exec(sentence)?.groups?.['network'] ?? null;
};

/**
 * Describes the error for people. A message with a reason comes from the service itself. It says what was missing, and
 * for which resource.
 */
const inWords = (caught: unknown, call: string, reason: string | null, status: number): string => {
  const host = request.safeParse(caught).data?.cause.config.url.host ?? null;
  if (status === 0 && reason === null)
    return (
      `${call} got no response: ` +
      (describeNetworkError(caught, host) ?? networkIn(caught) ?? host ?? 'the cause is unknown')
    );
  const sentence = reason !== null && caught instanceof Error ? firstLineOf(caught.message) : '';
  return `${call} returned ${reason ?? status}${sentence === '' ? '' : `: ${sentence}`}`;
};

/**
 * Classifies an error: 401 and 403 mean missing permission unless their reason is a limit, 429 and 5xx mean a problem
 * of the service, and any other 4xx means that this call was rejected. Without an answer, the result is unknown, so the
 * error is Unavailable.
 */
const toCloudfenceError = (caught: unknown, call: string): CloudfenceError => {
  const ours = ourOwn(caught);
  if (ours) return ours;
  const { code = null, httpStatusCode: status = 0 } = thrown.safeParse(caught).data ?? {};
  const reason = errorReasonOf(caught);
  const message = inWords(caught, call, reason, status);
  if (status === 429 || status >= 500 || (reason !== null && BUSY.has(reason)))
    return new Unavailable(message, { cause: caught });
  if (code === UNAUTHENTICATED || code === PERMISSION_DENIED || declinedToken(caught, status))
    return new PermissionDenied(message, { cause: caught });
  return status >= 400 ? new Refused(message, { cause: caught }) : new Unavailable(message, { cause: caught });
};

/** Finds an error of Cloudfence that was thrown before the request was sent, inside the SDK's wrappers. */
const ourOwn = (caught: unknown): CloudfenceError | null => {
  if (caught instanceof CloudfenceError) return caught;
  return caught instanceof Error && caught.cause !== undefined ? ourOwn(caught.cause) : null;
};

/** Runs one call if there are credentials, aborts it with the signal, and translates its errors. */
export const withCloudfenceErrors = async <T>(
  { ready }: { readonly ready: () => Promise<void> },
  call: string,
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<T> => {
  try {
    return await abortOnSignal(signal, () => ready().then(run));
  } catch (caught) {
    throw toCloudfenceError(caught, call);
  }
};

/**
 * Compute Engine's error codes in the messages of the Persistent Disk CSI driver: the code of an operation in
 * parentheses, or the reason at the end of `googleapi: Error 403: …, reason`.
 * https://cloud.google.com/compute/docs/troubleshooting/api-error-codes
 */
const FAULTS: Readonly<Record<string, DriverFault>> = {
  RESOURCE_IN_USE_BY_ANOTHER_RESOURCE: 'attached-elsewhere',
  resourceInUseByAnotherResource: 'attached-elsewhere',
  rateLimitExceeded: 'throttled',
  RATE_LIMIT_EXCEEDED: 'throttled',
  forbidden: 'not-permitted',
  PermissionDenied: 'not-permitted',
  kmsKeyError: 'key-unusable',
};

/** After an error, the driver does not try again for a while, and no longer reports which error it was. */
const BACKS_OFF = /\bControllerPublish not permitted on node\b.*\bbackoff condition\b/;

/** The code stands for several faults. A word in the message distinguishes them. */
const COVERING: readonly (readonly [RegExp, RegExp, DriverFault])[] = [
  [/\bUNSUPPORTED_OPERATION\b/, /Maximum \S+ disks count/i, 'attach-limit'],
  [/\bnotFound\b|NotFound|Could not find/, /\bCould not find disk\b|resource '\S+\/disks\//i, 'disk-not-found'],
  [
    /\bnotFound\b|NotFound|Could not find/,
    /\bCould not find instance\b|resource '\S+\/instances\//i,
    'machine-not-found',
  ],
  [/\b(?:resourceNotReady|RESOURCE_NOT_READY)\b/, /\/disks\//, 'disk-not-ready'],
  [/\binvalid\b|UNSUPPORTED_OPERATION/, /not a compatible disk type/i, 'incompatible'],
];

/** Returns the meaning of Compute Engine's code in a message, or null. */
export const driverFaultOf = (sentence: string): DriverFault | null => {
  if (BACKS_OFF.test(sentence)) return 'driver-backs-off';
  const covering = COVERING.find(([code, word]) => code.test(sentence) && word.test(sentence));
  if (covering) return covering[2];
  const known = sentence.match(/\b[A-Za-z_]+\b/g)?.find((word) => Object.hasOwn(FAULTS, word));
  return known === undefined ? null : (FAULTS[known] ?? null);
};
