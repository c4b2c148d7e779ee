import { z } from 'zod';
import { CloudfenceError, PermissionDenied, Refused, Throttled, Unavailable } from '../../fencing/model/errors.ts';
import { describeNetworkError, firstLineOf, isUnreadableAnswer, UNREADABLE_ANSWER } from '../../transport/answers.ts';
import type { DriverFault } from '../../diagnosis/model/facts.ts';

/**
 * Translates the error codes of EC2, EKS, and the credential chain into Cloudfence errors. Uses only codes, never
 * messages.
 */

/** An error from a service: the code is in `name`, and the HTTP status is in the metadata. */
const answered = z.object({ name: z.string(), $metadata: z.object({ httpStatusCode: z.number() }) });

/** Without credentials, the SDK sends no request. */
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

/** Codes with a 4xx status although nothing is wrong with the call. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  'InternalError',
  'InternalFailure',
  'RequestTimeout',
  'ServerInternal',
  'ServiceUnavailable',
  'Unavailable',
]);

const THROTTLED: ReadonlySet<string> = new Set([
  'EC2ThrottledException',
  'RequestLimitExceeded',
  'RequestThrottled',
  'RequestThrottledException',
  'SlowDown',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
]);

/** Returns the service's own error code, or null if no service answered. */
export const errorCodeOf = (caught: unknown): string | null => {
  const read = answered.safeParse(caught);
  return read.success ? read.data.name : null;
};

/**
 * Returns the code with which EC2 rejects the content of the call. An answer with any status other than 400 may come
 * from something other than EC2.
 */
export const declinedWith = (caught: unknown): string | null => {
  const read = answered.safeParse(caught);
  return read.success && read.data.$metadata.httpStatusCode === 400 ? read.data.name : null;
};

/** Messages of these errors quote the signed request, including the session token. */
const QUOTES_THE_REQUEST: ReadonlySet<string> = new Set([
  'IncompleteSignature',
  'InvalidSignatureException',
  'SignatureDoesNotMatch',
]);

/**
 * Keeps the service's sentence, because it says which principal lacks which permission on which resource. It also
 * contains the text for `aws sts decode-authorization-message`.
 */
const answeredInWords = ({ name, message }: Error): string => {
  const sentence = QUOTES_THE_REQUEST.has(name) ? '' : firstLineOf(message);
  return sentence === '' || sentence === name ? name : `${name}: ${sentence}`;
};

/** Describes the error for people. If credentials are missing, the SDK's message says where it looked for them. */
const inWords = (caught: unknown, call: string, status: number): string => {
  if (!(caught instanceof Error)) return `${call} returned nothing`;
  if (NO_CREDENTIALS.has(caught.name))
    return `${call} was not sent, because there are no credentials: ${caught.message}`;
  if (isUnreadableAnswer(caught)) return `${call} returned ${UNREADABLE_ANSWER}`;
  return status > 0
    ? `${call} returned ${answeredInWords(caught)}`
    : `${call} got no response: ${describeNetworkError(caught) ?? (firstLineOf(caught.message) || caught.name)}`;
};

/**
 * Classifies an unknown code by its HTTP status: 401 and 403 mean missing permission, 5xx and 429 mean a problem of the
 * service, and any other 4xx means that this call was rejected. Without an answer, the result is unknown, so the error
 * is Unavailable.
 */
export const toCloudfenceError = (caught: unknown, call: string): CloudfenceError => {
  if (caught instanceof CloudfenceError) return caught;
  const name = caught instanceof Error ? caught.name : '';
  const status = answered.safeParse(caught).data?.$metadata.httpStatusCode ?? 0;
  const message = inWords(caught, call, status);
  if (DENIED.has(name)) return new PermissionDenied(message, { cause: caught });
  if (THROTTLED.has(name) || status === 429) return new Throttled(message, { cause: caught });
  if (UNAVAILABLE.has(name) || status < 400 || status >= 500) return new Unavailable(message, { cause: caught });
  if (status === 401 || status === 403) return new PermissionDenied(message, { cause: caught });
  return new Refused(message, { cause: caught });
};

/** Runs one call and translates its errors. */
export const withCloudfenceErrors = async <T>(call: string, run: () => Promise<T>): Promise<T> => {
  try {
    return await run();
  } catch (caught) {
    throw toCloudfenceError(caught, call);
  }
};

/**
 * EC2's error codes in the messages of the EBS CSI driver. The driver passes on the SDK's text: `api error CODE:` in
 * version 2, `CODE:` before. https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
 */
const FAULTS: Readonly<Record<string, DriverFault>> = {
  AttachmentLimitExceeded: 'attach-limit',
  AuthFailure: 'not-permitted',
  CustomerKeyHasBeenRevoked: 'key-unusable',
  IncorrectInstanceState: 'machine-not-found',
  IncorrectState: 'disk-not-ready',
  'InvalidInstanceID.NotFound': 'machine-not-found',
  'InvalidVolume.NotFound': 'disk-not-found',
  'InvalidVolume.ZoneMismatch': 'wrong-zone',
  RequestLimitExceeded: 'throttled',
  UnauthorizedOperation: 'not-permitted',
  UnsupportedOperation: 'incompatible',
  VolumeInUse: 'attached-elsewhere',
  WebIdentityErr: 'not-permitted',
};

const WORD = /\b[A-Z][A-Za-z]+(?:\.[A-Z][A-Za-z]+)?\b/g;

/** Returns the meaning of EC2's code in a message, or null. */
export const driverFaultOf = (sentence: string): DriverFault | null => {
  const code = sentence.match(WORD)?.find((word) => Object.hasOwn(FAULTS, word));
  return code === undefined ? null : (FAULTS[code] ?? null);
};
