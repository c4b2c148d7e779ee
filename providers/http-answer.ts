import { CloudfenceError, PermissionDenied, Refused, Throttled, Unavailable } from '../fencing/model/errors.ts';
import { describeNetworkError } from '../transport/answers.ts';

/** One call to a service of a cloud, without that service's SDK. */
export interface HttpCall {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly url: string;
  /** The name of the call in messages, which is its permission. */
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpAnswer {
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
export const goodAnswer = (answer: HttpAnswer, { name }: Pick<HttpCall, 'name'>): HttpAnswer => {
  if (isGood(answer)) return answer;
  throw toCloudfenceError(answer, name);
};

/** Returns the error for a call that got no answer. */
export const noAnswer = (caught: unknown, { name, url }: Pick<HttpCall, 'name' | 'url'>): CloudfenceError =>
  caught instanceof CloudfenceError
    ? caught
    : new Unavailable(
        `${name} got no response: ${describeNetworkError(caught, new URL(url).host) ?? new URL(url).host}`,
        { cause: caught },
      );
