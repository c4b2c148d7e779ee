import { ApiException } from '@kubernetes/client-node/dist/gen/index.js';
import { z } from 'zod';
import { CloudfenceError, ClusterUnavailable, PermissionDenied, Refused } from '../fencing/model/errors.ts';
import { parseJsonOrNull } from '../fencing/model/json-text.ts';
import { describeNetworkError, isUnreadableAnswer, UNREADABLE_ANSWER } from '../transport/answers.ts';

/** Translates errors of the API server and its client into the errors of Cloudfence. */

/** https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/ */
const status = z.object({
  kind: z.literal('Status'),
  message: z.string().default(''),
  reason: z.string().default(''),
  details: z
    .object({
      name: z.string().default(''),
      causes: z.array(z.object({ reason: z.string().default(''), field: z.string().default('') })).catch([]),
    })
    .default({ name: '', causes: [] }),
});
type Status = z.infer<typeof status>;

const causeOf = (error: unknown): unknown => (error instanceof Error ? error.cause : undefined);

const findInCauses = <T>(error: unknown, wanted: (link: unknown) => link is T): T | null => {
  for (let link = error; link !== undefined && link !== null; link = causeOf(link)) if (wanted(link)) return link;
  return null;
};

const isApiException = (error: unknown): error is ApiException<unknown> => error instanceof ApiException;
const isOurs = (error: unknown): error is CloudfenceError => error instanceof CloudfenceError;

export const findApiException = (error: unknown): ApiException<unknown> | null => findInCauses(error, isApiException);

/**
 * Returns the Status in an answer, or null. The client provides the body as unparsed text. A body that is not a Status
 * did not come from the API server itself.
 */
const statusOf = ({ body }: ApiException<unknown>): Status | null =>
  status.safeParse(parseJsonOrNull(body)).data ?? null;

/**
 * Returns whether the API server itself says that the named object does not exist. A 404 from a proxy, or for an
 * unknown path, does not count.
 */
export const isNotFound = (error: unknown): boolean => {
  const exception = findApiException(error);
  const serverStatus = exception?.code === 404 ? statusOf(exception) : null;
  return serverStatus?.reason === 'NotFound' && serverStatus.details.name !== '';
};

/** Returns whether a precondition or a test in the request failed. */
export const isPreconditionFailed = (error: unknown): boolean =>
  [409, 422].includes(findApiException(error)?.code ?? 0);

/**
 * Returns whether a write failed because the annotations of its object would be longer than 256 KiB in total.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
 */
export const hasNoRoomForAnnotations = (error: unknown): boolean => {
  const exception = findApiException(error);
  const causes = exception?.code === 422 ? statusOf(exception)?.details.causes : undefined;
  return (
    causes?.some(({ reason, field }) => reason === 'FieldValueTooLong' && field === 'metadata.annotations') ?? false
  );
};

const serverMessage = (exception: ApiException<unknown>): string => {
  const serverStatus = statusOf(exception);
  return serverStatus ? `${exception.code} ${serverStatus.reason}: ${serverStatus.message}` : `${exception.code}`;
};

const errorClassOf = (
  exception: ApiException<unknown>,
): typeof ClusterUnavailable | typeof PermissionDenied | typeof Refused => {
  const { code } = exception;
  if (code === 401 || code === 403) return PermissionDenied;
  const fromElsewhere = code === 404 && statusOf(exception) === null;
  return code === 408 || code === 410 || code === 429 || code >= 500 || fromElsewhere ? ClusterUnavailable : Refused;
};

/**
 * Returns why there was no answer. Node.js names the host in its message. The message is empty when Node.js tried all
 * addresses of a name without success.
 */
const whyNoAnswer = (error: unknown): string => {
  const sentence = error instanceof Error ? error.message : String(error);
  return sentence === '' ? (describeNetworkError(error) ?? 'the cause is unknown') : sentence;
};

export const unreadableAnswer = (whose: string, cause: unknown): ClusterUnavailable =>
  new ClusterUnavailable(
    `${whose} returned ${UNREADABLE_ANSWER}: check what answers at the address of the API server`,
    {
      cause,
    },
  );

/**
 * Runs code that reads answers of the API server. The client does not check that a field exists and has the right type.
 * So an unexpected answer fails only where the field is used.
 * @throws ClusterUnavailable for such an answer
 */
export const withReadableAnswers = async <T>(cluster: string, read: () => Promise<T>): Promise<T> => {
  try {
    return await read();
  } catch (error) {
    throw isUnreadableAnswer(error) ? unreadableAnswer(`cluster ${cluster}`, error) : error;
  }
};

/**
 * Converts an error to one of fencing's errors. `call` is the request line. The error class depends on the code and the
 * reason, never on the text of the message.
 */
export const toCloudfenceError = (error: unknown, call: string): CloudfenceError => {
  const translated = findInCauses(error, isOurs);
  if (translated) return translated;
  const exception = findApiException(error);
  if (isUnreadableAnswer(error)) return unreadableAnswer(call, error);
  if (!exception) return new ClusterUnavailable(`${call} got no response: ${whyNoAnswer(error)}`, { cause: error });
  const Kind = errorClassOf(exception);
  return new Kind(`${call} returned ${serverMessage(exception)}`, { cause: error });
};

/** Returns whether the server does not serve the path of the call, for example because an API is not installed. */
export const isUnknownPath = (error: unknown): boolean => findApiException(error)?.code === 404 && !isNotFound(error);
