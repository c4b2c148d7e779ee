import { z } from 'zod';
import { CloudfenceError, Denied, Refused, Unavailable } from '../../fencing/model/errors.ts';
import { noAnswer, sentenceOf } from '../../transport/no-answer.ts';

/** What ARM and the credentials answer, in fencing's words. By code and status, never by message. */

/** ARM answered, or the connection failed: then there is a code of the network and no status. */
const restError = z.object({
  name: z.literal('RestError'),
  code: z.string().optional(),
  statusCode: z.number().optional(),
});

const asked = z.object({ request: z.object({ url: z.string() }) });

/** No token could be had. https://learn.microsoft.com/javascript/api/@azure/identity/ */
const credentialError = z.object({
  name: z.enum([
    'AuthenticationError',
    'AuthenticationRequiredError',
    'CredentialUnavailableError',
    'AggregateAuthenticationError',
  ]),
  statusCode: z.number().optional(),
});

/** Conflicts that end by themselves: another operation is under way on the same machine, or pushed this one aside. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  'AnotherOperationInProgress',
  'Conflict',
  'OperationPreempted',
  'RequestTimeout',
  'RetryableError',
  'TooManyRequests',
]);

/** ARM's own code for what went wrong, or null when ARM did not answer. */
export const codeOf = (caught: unknown): string | null => {
  const { code = null, statusCode } = restError.safeParse(caught).data ?? {};
  return statusCode === undefined ? null : code;
};

/** A call that ARM itself declined. */
export interface Declined {
  readonly status: number;
  readonly code: string;
}

/** Null where nobody declined, or somebody who does not speak as ARM does: see `onlyArmsErrors`. */
export const declinedWith = (caught: unknown): Declined | null => {
  const { code, statusCode: status = 0 } = restError.safeParse(caught).data ?? {};
  return code === undefined || status < 400 || status >= 500 ? null : { status, code };
};

const isTheirTrouble = (status: number): boolean => status < 400 || status === 408 || status === 429 || status >= 500;

/**
 * Of one credential the first line of its own words; of a whole chain they would fill a page, with headers of answers
 * in it.
 */
const whyNoToken = ({ name, message }: Error): string =>
  name === 'AggregateAuthenticationError'
    ? '`az login`, a managed identity or the variables of a service principal would give one'
    : (message.split('\n')[0] ?? '');

/** Who was asked: the SDK keeps the request, and of the network's error no more than its code. */
const hostIn = (caught: unknown): string | null => {
  const { url = '' } = asked.safeParse(caught).data?.request ?? {};
  return URL.canParse(url) ? new URL(url).host : null;
};

/** ARM's own sentence says who may not do what, and where. */
const answeredInWords = (code: string | undefined, status: number, caught: unknown): string => {
  const sentence = code !== undefined && caught instanceof Error ? sentenceOf(caught.message) : '';
  return `${code ?? `status ${status}`}${sentence === '' ? '' : `: ${sentence}`}`;
};

/** For people. */
const inWords = (caught: unknown, call: string): string => {
  if (caught instanceof Error && credentialError.safeParse(caught).success)
    return `${call} was not sent, for there is no token: ${whyNoToken(caught)}`;
  const { code, statusCode } = restError.safeParse(caught).data ?? {};
  if (statusCode !== undefined) return `${call} answered ${answeredInWords(code, statusCode, caught)}`;
  const host = hostIn(caught);
  const why = noAnswer(caught, host) ?? code ?? host;
  return `${call} was not answered${why === null ? '' : `: ${why}`}`;
};

/**
 * 401 and 403 are about permission, other 4xx decline this very call, 5xx and 429 are the other side's trouble. Without
 * an answer there is nothing to be known: unavailable.
 */
export const toCloudfenceError = (caught: unknown, call: string): CloudfenceError => {
  if (caught instanceof CloudfenceError) return caught;
  const noToken = credentialError.safeParse(caught).data;
  const { code, statusCode: status = 0 } = restError.safeParse(caught).data ?? {};
  const message = inWords(caught, call);
  if (noToken)
    return noToken.statusCode !== undefined && isTheirTrouble(noToken.statusCode)
      ? new Unavailable(message, { cause: caught })
      : new Denied(message, { cause: caught });
  if (isTheirTrouble(status) || UNAVAILABLE.has(code ?? '')) return new Unavailable(message, { cause: caught });
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
