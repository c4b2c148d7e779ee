import { z } from 'zod';
import { CloudfenceError, PermissionDenied, Refused, Unavailable } from '../../fencing/model/errors.ts';
import { describeNetworkError, firstLineOf, isUnreadableAnswer, UNREADABLE_ANSWER } from '../../transport/answers.ts';
import type { DriverFault } from '../../diagnosis/model/facts.ts';

/**
 * Translates the answers of ARM and the errors of the credentials into Cloudfence errors. Uses only codes and statuses,
 * never messages.
 */

/** An answer from ARM, or a failed connection. A failed connection has a network code and no status. */
const restError = z.object({
  name: z.literal('RestError'),
  code: z.string().optional(),
  statusCode: z.number().optional(),
});

const asked = z.object({ request: z.object({ url: z.string() }) });

/** The credentials gave no token. https://learn.microsoft.com/javascript/api/@azure/identity/ */
const credentialError = z.object({
  name: z.enum([
    'AuthenticationError',
    'AuthenticationRequiredError',
    'CredentialUnavailableError',
    'AggregateAuthenticationError',
  ]),
  statusCode: z.number().optional(),
});

/** Conflicts that end by themselves: another operation is running on the same machine, or has preempted this one. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  'AnotherOperationInProgress',
  'Conflict',
  'OperationPreempted',
  'RequestTimeout',
  'RetryableError',
  'TooManyRequests',
]);

/** Returns ARM's own error code, or null if ARM did not answer. */
export const errorCodeOf = (caught: unknown): string | null => {
  const { code = null, statusCode } = restError.safeParse(caught).data ?? {};
  return statusCode === undefined ? null : code;
};

/** A call that ARM itself rejected. */
export interface Declined {
  readonly status: number;
  readonly code: string;
}

/**
 * Returns how ARM rejected the call. Returns null if the call was not rejected, or if the answer does not have ARM's
 * format: see `onlyArmsErrors`.
 */
export const declinedWith = (caught: unknown): Declined | null => {
  const { code, statusCode: status = 0 } = restError.safeParse(caught).data ?? {};
  return code === undefined || status < 400 || status >= 500 ? null : { status, code };
};

const isTheirTrouble = (status: number): boolean => status < 400 || status === 408 || status === 429 || status >= 500;

/**
 * Explains why there is no token. For a single credential, that is the first line of its own message. The message of a
 * whole chain would fill a page and contain response headers.
 */
const whyNoToken = ({ name, message }: Error): string =>
  name === 'AggregateAuthenticationError'
    ? 'run `az login`, or use a managed identity or the variables of a service principal'
    : (message.split('\n')[0] ?? '');

/** Returns the host to which the request was sent. The SDK keeps the request, but of a network error only the code. */
const hostIn = (caught: unknown): string | null => {
  const { url = '' } = asked.safeParse(caught).data?.request ?? {};
  return URL.canParse(url) ? new URL(url).host : null;
};

/** The SDK's code for a body that is not JSON. Its message quotes the whole body. */
const NOT_JSON = 'PARSE_ERROR';

/** Keeps ARM's own sentence, because it says which principal lacks which permission on which resource. */
const answeredInWords = (code: string | undefined, status: number, caught: unknown): string => {
  const sentence = code !== undefined && caught instanceof Error ? firstLineOf(caught.message) : '';
  return `${code ?? `status ${status}`}${sentence === '' ? '' : `: ${sentence}`}`;
};

/** Describes the error for people. */
const inWords = (caught: unknown, call: string): string => {
  if (caught instanceof Error && credentialError.safeParse(caught).success)
    return `${call} was not sent, because there is no token: ${whyNoToken(caught)}`;
  const { code, statusCode } = restError.safeParse(caught).data ?? {};
  if (code === NOT_JSON || isUnreadableAnswer(caught)) return `${call} returned ${UNREADABLE_ANSWER}`;
  if (statusCode !== undefined) return `${call} returned ${answeredInWords(code, statusCode, caught)}`;
  const host = hostIn(caught);
  const why = describeNetworkError(caught, host) ?? code ?? host;
  return `${call} got no response${why === null ? '' : `: ${why}`}`;
};

/**
 * Classifies an error: 401 and 403 mean missing permission, 5xx and 429 mean a problem of the service, and any other
 * 4xx means that this call was rejected. Without an answer, the result is unknown, so the error is Unavailable.
 */
export const toCloudfenceError = (caught: unknown, call: string): CloudfenceError => {
  if (caught instanceof CloudfenceError) return caught;
  const noToken = credentialError.safeParse(caught).data;
  const { code, statusCode: status = 0 } = restError.safeParse(caught).data ?? {};
  const message = inWords(caught, call);
  if (noToken)
    return noToken.statusCode !== undefined && isTheirTrouble(noToken.statusCode)
      ? new Unavailable(message, { cause: caught })
      : new PermissionDenied(message, { cause: caught });
  if (isTheirTrouble(status) || UNAVAILABLE.has(code ?? '')) return new Unavailable(message, { cause: caught });
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
 * Azure's error codes in the messages of the Azure Disk CSI driver: `ERROR CODE: …` of the SDK, `Code="…"` and `"code":
 * "…"` before. https://learn.microsoft.com/azure/virtual-machines/error-messages
 */
const FAULTS: Readonly<Record<string, DriverFault>> = {
  AttachDiskWhileBeingDetached: 'detach-pending',
  AuthorizationFailed: 'not-permitted',
  ConflictingUserInput: 'attached-elsewhere',
  DiskServiceInternalError: 'throttled',
  KeyVaultAccessForbidden: 'key-unusable',
  LinkedAuthorizationFailed: 'not-permitted',
  MaximumDataDisksExceeded: 'attach-limit',
  ResourceNotFound: 'disk-not-found',
  SubscriptionRequestsThrottled: 'throttled',
  TooManyRequests: 'throttled',
};

/** Codes that stand for several faults. A word in the message distinguishes them. */
const COVERING: readonly (readonly [RegExp, RegExp, DriverFault])[] = [
  [
    /\bResourceNotFound\b|\binstance not found\b/,
    /Resource '\S+\/virtualMachine|azure instance id/i,
    'machine-not-found',
  ],
  [/\bOperationNotAllowed\b/, /maximum number of data disks/i, 'attach-limit'],
  [/\b(?:BadRequest|OperationNotAllowed)\b/, /not in the same zone/i, 'wrong-zone'],
  [/\bInvalidParameter\b/, /UltraSSD|storage account type/i, 'incompatible'],
  [/\bInvalidParameter\b/, /dataDisk\.lun' is out of range/i, 'attach-limit'],
  [/\bInvalidParameter\b|already exists/, /\bLUN \d+ already exists/i, 'lun-taken'],
];

/**
 * Messages of the driver itself, which have no code.
 * https://github.com/kubernetes-sigs/azuredisk-csi-driver/blob/master/pkg/azuredisk/azure_controller_common.go
 */
const WORDS: readonly (readonly [RegExp, DriverFault])[] = [
  [/\balready attached to node\(/, 'attached-elsewhere'],
  [/\bis in ToBeDetached state\b/, 'detach-pending'],
  [/\bstate of disk\(.*\) is \w+, not in expected\b/, 'disk-not-ready'],
  [/\ball luns are used\b|\bcould not find enough disk luns\b/i, 'attach-limit'],
  [/\bclient throttled\b/, 'throttled'],
  [/\bVolume not found, failed with error\b/, 'disk-not-found'],
];

const CODE = /code"?\s*[:=]\s*"?([A-Za-z]+)/gi;

/** Returns the meaning of Azure's code or of the driver's text in a message, or null. */
export const driverFaultOf = (sentence: string): DriverFault | null => {
  const covering = COVERING.find(([code, word]) => code.test(sentence) && word.test(sentence));
  if (covering) return covering[2];
  const codes = [...sentence.matchAll(CODE)].map(([, code = '']) => code);
  const known = codes.find((code) => Object.hasOwn(FAULTS, code));
  const [, fault = null] = WORDS.find(([words]) => words.test(sentence)) ?? [];
  return known === undefined ? fault : (FAULTS[known] ?? null);
};
