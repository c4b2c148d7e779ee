import { z } from 'zod';
import { CloudfenceError, Denied, Refused, Unavailable } from '../../fencing/model/errors.ts';
import { noAnswer, sentenceOf } from '../../transport/no-answer.ts';

/** The error codes that EC2, EKS and the credential chain answer, in fencing's words. By code, never by message. */

/** A service answered: its code stands in `name`, and the HTTP status beside it. */
const answered = z.object({ name: z.string(), $metadata: z.object({ httpStatusCode: z.number() }) });

/** Without credentials the SDK sends nothing. */
const NO_CREDENTIALS: ReadonlySet<string> = new Set(['CredentialsProviderError', 'TokenProviderError']);

const DENIED: ReadonlySet<string> = new Set([
  ...NO_CREDENTIALS,
  'AccessDenied',
  'AccessDeniedException',
  'AuthFailure',
  'Blocked',
  'ExpiredToken',
  'ExpiredTokenException',
  'IncompleteSignature',
  'InvalidClientTokenId',
  'InvalidSignatureException',
  'MissingAuthenticationToken',
  'OptInRequired',
  'PendingVerification',
  'RequestExpired',
  'SignatureDoesNotMatch',
  'UnauthorizedOperation',
  'UnrecognizedClientException',
]);

/** Codes that come with a status of the 400 class although nothing is wrong with the call. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  'InternalError',
  'InternalFailure',
  'RequestLimitExceeded',
  'RequestTimeout',
  'ServerInternal',
  'ServiceUnavailable',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
  'Unavailable',
]);

/** The service's own code for what went wrong, or null when no service answered. */
export const codeOf = (caught: unknown): string | null => {
  const read = answered.safeParse(caught);
  return read.success ? read.data.name : null;
};

/**
 * The code with which EC2 declines a call for what it asks; what comes with any other status may be somebody else's
 * word.
 */
export const declinedWith = (caught: unknown): string | null => {
  const read = answered.safeParse(caught);
  return read.success && read.data.$metadata.httpStatusCode === 400 ? read.data.name : null;
};

/** Their messages quote the request as it was signed, session token and all. */
const QUOTES_THE_REQUEST: ReadonlySet<string> = new Set([
  'IncompleteSignature',
  'InvalidSignatureException',
  'SignatureDoesNotMatch',
]);

/**
 * The service's sentence says who may not do what to which resource, and holds the text that `aws sts
 * decode-authorization-message` reads.
 */
const answeredInWords = ({ name, message }: Error): string => {
  const sentence = QUOTES_THE_REQUEST.has(name) ? '' : sentenceOf(message);
  return sentence === '' || sentence === name ? name : `${name}: ${sentence}`;
};

/** For people. Of missing credentials the SDK's own words say where they were looked for. */
const inWords = (caught: unknown, call: string, status: number): string => {
  if (!(caught instanceof Error)) return `${call} answered nothing`;
  if (NO_CREDENTIALS.has(caught.name)) return `${call} was not sent, for there are no credentials: ${caught.message}`;
  return status > 0
    ? `${call} answered ${answeredInWords(caught)}`
    : `${call} was not answered: ${noAnswer(caught) ?? (sentenceOf(caught.message) || caught.name)}`;
};

/**
 * An unknown code goes by the class of its HTTP status: 401 and 403 are about permission, other 4xx decline this very
 * call, and 5xx or 429 are the other side's trouble. Without an answer there is nothing to be known: unavailable.
 */
export const toCloudfenceError = (caught: unknown, call: string): CloudfenceError => {
  if (caught instanceof CloudfenceError) return caught;
  const name = caught instanceof Error ? caught.name : '';
  const status = answered.safeParse(caught).data?.$metadata.httpStatusCode ?? 0;
  const message = inWords(caught, call, status);
  if (DENIED.has(name)) return new Denied(message, { cause: caught });
  if (UNAVAILABLE.has(name) || status < 400 || status === 429 || status >= 500)
    return new Unavailable(message, { cause: caught });
  if (status === 401 || status === 403) return new Denied(message, { cause: caught });
  return new Refused(message, { cause: caught });
};

/** Runs one call and translates what it throws. */
export const withCloudfenceErrors = async <T>(call: string, run: () => Promise<T>): Promise<T> => {
  try {
    return await run();
  } catch (caught) {
    throw toCloudfenceError(caught, call);
  }
};
