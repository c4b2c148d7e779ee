import { type GoogleAuth, PassThroughClient } from 'google-auth-library';
import { z } from 'zod';
import { CloudfenceError, PermissionDenied, Refused, Unavailable } from '../../fencing/model/errors.ts';
import type { Fetch } from './client.ts';
import { createAuth, loadCredentials } from './credentials.ts';
import { abortOnSignal } from '../../fencing/loop/ports.ts';
import { describeNetworkError, firstLineOf } from '../../transport/answers.ts';

/**
 * Calls the Google Cloud services for which one call is enough and no SDK is needed. Uses the identity from the
 * environment.
 */

export interface RestOptions {
  /** URL of another endpoint for all of them. Over plain HTTP, no token is sent. */
  readonly endpoint: string | null;
  /** Replaces the network. */
  readonly fetch?: Fetch;
}

interface RestCall {
  /** The service's own host. */
  readonly host: string;
  readonly path: string;
  /** The name of the call in messages: its permission. */
  readonly name: string;
}

const SCOPES = ['https://www.googleapis.com/auth/cloud-platform'];
const ANSWER_LASTS_MS = 5_000;

/** Returns the credentials for all services of the platform. */
export const platformAuth = ({ fetch }: RestOptions): GoogleAuth =>
  createAuth({ scopes: SCOPES, ...(fetch && { transporterOptions: { fetchImplementation: fetch } }) });

const anonymous = ({ fetch }: RestOptions): PassThroughClient =>
  new PassThroughClient(fetch && { transporterOptions: { fetchImplementation: fetch } });

const failure = z.object({
  status: z.number().optional(),
  config: z.object({ url: z.instanceof(URL).optional() }).optional(),
});

/** The service's own sentence, if its answer has Google's form. */
const failedAnswer = z.object({
  response: z.object({ data: z.object({ error: z.object({ message: z.string().min(1) }) }) }),
});

const sentenceIn = (caught: unknown): string => {
  const message = failedAnswer.safeParse(caught).data?.response.data.error.message;
  return message === undefined ? '' : `: ${firstLineOf(message)}`;
};

/** Translates an error by its status, never by its message. A token service declines with a plain 400. */
const toCloudfenceError = (caught: unknown, name: string, host: string): CloudfenceError => {
  if (caught instanceof CloudfenceError) return caught;
  const { status = 0, config } = failure.safeParse(caught).data ?? {};
  const asked = config?.url?.host ?? (host === '' ? null : host);
  const message =
    status === 0
      ? `${name} got no response: ${describeNetworkError(caught, asked) ?? asked ?? 'the cause is unknown'}`
      : `${name} returned status ${status}${sentenceIn(caught)}`;
  if (status < 400 || status === 429 || status >= 500) return new Unavailable(message, { cause: caught });
  const aboutToken = config?.url !== undefined && config.url.host !== host;
  return status === 401 || status === 403 || aboutToken
    ? new PermissionDenied(message, { cause: caught })
    : new Refused(message, { cause: caught });
};

/** Returns the answer as `shape` parses it. @throws Unavailable, PermissionDenied, Refused */
export const restGet = async <T>(
  auth: GoogleAuth,
  options: RestOptions,
  call: RestCall,
  shape: z.ZodType<T>,
  signal: AbortSignal,
): Promise<T> => {
  const url = new URL(call.path, options.endpoint ?? `https://${call.host}`);
  const request = { url, signal, timeout: ANSWER_LASTS_MS, retry: true, responseType: 'json' } as const;
  const send = async () =>
    url.protocol === 'http:'
      ? anonymous(options).request<unknown>(request)
      : loadCredentials(auth).then(() => auth.request<unknown>(request));
  const { data } = await abortOnSignal(signal, send).catch((caught: unknown) => {
    throw toCloudfenceError(caught, call.name, url.host);
  });
  const read = shape.safeParse(data);
  if (read.success) return read.data;
  throw new Unavailable(`the response to ${call.name} is not valid`, { cause: read.error });
};

/** Returns a token for a service that other code calls. @throws Unavailable, PermissionDenied */
export const accessToken = async (auth: GoogleAuth): Promise<string | null | undefined> => {
  await loadCredentials(auth);
  return auth.getAccessToken().catch((caught: unknown) => {
    throw toCloudfenceError(caught, 'the token service', '');
  });
};
