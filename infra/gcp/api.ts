import { GoogleAuth, PassThroughClient } from 'google-auth-library';
import { z } from 'zod';
import { nonEmptyText } from '../../fencing/model/foreign-text.ts';
import { CloudfenceError, PermissionDenied, Refused, Unavailable } from '../../fencing/model/errors.ts';
import { loadCredentials } from '../../providers/gcp/credentials.ts';
import { describeFunctionFailure } from '../serverless/deployer.ts';

/** The management APIs that a deployment calls, by host name. */
export const apiHosts = {
  functions: 'https://cloudfunctions.googleapis.com',
  iam: 'https://iam.googleapis.com',
  logging: 'https://logging.googleapis.com',
  monitoring: 'https://monitoring.googleapis.com',
  projects: 'https://cloudresourcemanager.googleapis.com',
  pubsub: 'https://pubsub.googleapis.com',
  run: 'https://run.googleapis.com',
  scheduler: 'https://cloudscheduler.googleapis.com',
  secrets: 'https://secretmanager.googleapis.com',
  services: 'https://serviceusage.googleapis.com',
  storage: 'https://storage.googleapis.com',
} as const;

export type Host = keyof typeof apiHosts;

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly host: Host;
  /** A path with the version, and with the query if there is one. */
  readonly path: string;
  readonly body?: object;
}

export interface HttpResponse {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ApiCaller {
  /**
   * Returns any answer.
   * @throws Unavailable without an answer
   */
  readonly ask: (call: ApiCall) => Promise<HttpResponse>;
  /**
   * Returns the body of a successful answer.
   * @throws PermissionDenied, Refused, Unavailable for any other answer
   */
  readonly call: (call: ApiCall) => Promise<HttpResponse['body']>;
}

export interface Api extends ApiCaller {
  /** Uploads a file to a URL that an API returned. The URL itself grants the permission. */
  readonly upload: (url: string, bytes: Buffer) => Promise<void>;
  /** Calls a function with an ID token for that audience, made from the credentials of this command. */
  readonly invoke: (url: string, audience: string, payload: unknown) => Promise<unknown>;
  readonly wait: (ms: number) => Promise<void>;
  /** Returns the same two methods on top of another `ask`. */
  readonly over: (ask: ApiCaller['ask']) => ApiCaller;
}

interface ApiOptions {
  /** One URL in place of all hosts, for tests. No credentials are sent over plain HTTP. */
  readonly endpoint: string | null;
  readonly wait: (ms: number) => Promise<void>;
}

const SCOPES = ['https://www.googleapis.com/auth/cloud-platform'];
const ANSWER_LASTS_MS = 60_000;
/** Longer than a function can take, which is nine minutes. */
const INVOCATION_LASTS_MS = 10 * 60_000;

const json = z.record(z.string(), z.unknown());
/** https://cloud.google.com/apis/design/errors, and https://cloud.google.com/storage/docs/json_api/v1/status-codes */
const problem = z.object({
  error: z.object({
    message: z.string(),
    status: z.string().optional(),
    details: z.array(z.looseObject({ reason: z.string().optional() })).optional(),
    /** Cloud Storage has this in place of a status. */
    errors: z.array(z.looseObject({ reason: z.string().optional() })).optional(),
  }),
});

/**
 * Returns Google's name for the error, such as NOT_FOUND, or an empty text if there is none.
 * https://cloud.google.com/apis/design/errors#handling_errors
 */
export const errorStatusOf = ({ body }: HttpResponse): string => {
  const said = problem.safeParse(body).data?.error;
  return said?.status ?? (said?.errors?.[0]?.reason === 'notFound' ? 'NOT_FOUND' : '');
};

/**
 * Reports whether the API itself is disabled in the project.
 * https://cloud.google.com/apis/design/errors#error_info
 */
export const isApiDisabled = ({ status, body }: HttpResponse): boolean =>
  status === 403 &&
  (problem.safeParse(body).data?.error.details ?? []).some(({ reason }) => reason === 'SERVICE_DISABLED');

export const isSuccess = ({ status }: HttpResponse): boolean => status >= 200 && status < 300;

export const errorFromResponse = (
  { method, path }: Pick<ApiCall, 'method' | 'path'>,
  { status, body }: HttpResponse,
): CloudfenceError => {
  const said = problem.safeParse(body).data?.error;
  const message = `${method} ${path} returned ${status}${said ? ` ${said.status ?? ''}: ${said.message}` : ''}`;
  if (status === 401 || status === 403) return new PermissionDenied(message);
  return status >= 400 && status < 500 && status !== 429 ? new Refused(message) : new Unavailable(message);
};

export const createApi = ({ endpoint, wait }: ApiOptions): Api => {
  const isOpen = endpoint?.startsWith('http:') === true;
  const auth = isOpen ? new GoogleAuth({ authClient: new PassThroughClient() }) : new GoogleAuth({ scopes: SCOPES });
  const ask = async (call: ApiCall): Promise<HttpResponse> => {
    const { method, host, path, body } = call;
    const request = {
      url: `${endpoint ?? apiHosts[host]}/${path}`,
      method,
      timeout: ANSWER_LASTS_MS,
      validateStatus: () => true,
      ...(body && { data: body }),
    };
    const [withoutQuery = ''] = path.split('?', 1);
    const { status, data } = await sendOrExplain(`${method} ${withoutQuery}`, async () => {
      await loadCredentials(auth);
      return auth.request<unknown>(request);
    });
    return { status, body: json.safeParse(data).data ?? {} };
  };
  return {
    ...withCalls(ask),
    over: withCalls,
    upload,
    invoke: (url, audience, payload) => invoke(auth, url, audience, payload),
    wait,
  };
};

const withCalls = (ask: ApiCaller['ask']): ApiCaller => ({
  ask,
  call: async (wanted) => {
    const answer = await ask(wanted);
    if (!isSuccess(answer)) throw errorFromResponse(wanted, answer);
    return answer.body;
  },
});

const sendOrExplain = async <T>(what: string, send: () => Promise<T>): Promise<T> => {
  try {
    return await send();
  } catch (cause) {
    if (cause instanceof CloudfenceError) throw cause;
    throw new Unavailable(`${what} got no response: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
};

const upload = async (url: string, bytes: Buffer): Promise<void> => {
  const { status } = await sendOrExplain('the upload', () =>
    fetch(url, { method: 'PUT', headers: { 'content-type': 'application/zip' }, body: new Uint8Array(bytes) }),
  );
  if (status < 200 || status >= 300) throw new Unavailable(`the upload returned status ${status}`);
};

const invoke = async (auth: GoogleAuth, url: string, audience: string, payload: unknown): Promise<unknown> => {
  const client = url.startsWith('https:') ? await auth.getIdTokenClient(audience) : auth;
  const { status, data } = await sendOrExplain(`POST ${url}`, () =>
    client.request<unknown>({
      url,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      data: JSON.stringify(payload),
      timeout: INVOCATION_LASTS_MS,
      validateStatus: () => true,
    }),
  );
  if (status >= 200 && status < 300) return data;
  throw errorFromResponse(
    { method: 'POST', path: url },
    { status, body: { error: { message: describeFunctionFailure(data) } } },
  );
};

const BETWEEN_MS = 2_000;
const operation = z.object({
  name: nonEmptyText,
  done: z.boolean().default(false),
  error: z.object({ message: z.string() }).optional(),
});

/**
 * Limits the number of polls. A build takes a minute or two.
 * https://cloud.google.com/functions/docs/reference/rest/v2/projects.locations.operations
 */
const POLLS = 300;

/** The API that reports the state of an operation. */
interface OperationApi {
  readonly host: Host;
  readonly version: string;
}

const FUNCTIONS_API: OperationApi = { host: 'functions', version: 'v2' };

/**
 * Waits for the end of an operation.
 * @throws Unavailable if the operation fails, with its message, or takes ten minutes
 */
export const waitForOperation = async (
  api: Api,
  begun: unknown,
  what: string,
  { host, version } = FUNCTIONS_API,
): Promise<void> => {
  let current = operation.parse(begun);
  for (let polls = 0; !current.done && polls < POLLS; polls += 1) {
    await api.wait(BETWEEN_MS);
    current = operation.parse(await api.call({ method: 'GET', host, path: `${version}/${current.name}` }));
  }
  if (current.error) throw new Unavailable(`${what} failed: ${current.error.message}`);
  if (!current.done) throw new Unavailable(`${what} did not finish within ten minutes`);
};

/**
 * Retries calls that succeed after some time, because a new resource or grant does not take effect everywhere
 * immediately.
 */

const SECOND = 1_000;
const FIRST_PAUSE_MS = SECOND;
const LONGEST_PAUSE_MS = 30 * SECOND;
/**
 * "it can take 60 seconds or more" until a new account can be used:
 * https://cloud.google.com/iam/docs/service-accounts-create
 */
const ACCOUNT_KNOWN_WITHIN_MS = 3 * 60 * SECOND;

interface RetryRule {
  /** Reports whether a later answer may be different. */
  readonly mayPass: (answer: HttpResponse) => boolean;
  /** The longest time to keep asking (ms). */
  readonly within: number;
}

/**
 * Asks again, with growing pauses, until the answer is final or the time limit is reached. Returns the last answer,
 * even if it is a failure.
 */
export const retryUntilFinal = async (
  api: Pick<Api, 'wait'>,
  ask: () => Promise<HttpResponse>,
  { mayPass, within }: RetryRule,
): Promise<HttpResponse> => {
  let waited = 0;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const answer = await ask();
    if (!mayPass(answer) || waited >= within) return answer;
    await api.wait(pause);
    waited += pause;
  }
};

/**
 * "Policy changes take effect within 2 minutes typically, and up to 7":
 * https://cloud.google.com/iam/docs/access-change-propagation
 */
export const POLICY_PROPAGATION_MS = 7 * 60 * SECOND;

/** Reports whether the refusal can come from an account or grant that is too new to be known. */
const mayBeTooNew = ({ status }: HttpResponse): boolean => status === 400 || status === 403 || status === 404;

/**
 * Calls again while the answer can come from a new account or grant.
 * @throws PermissionDenied, Refused, Unavailable if the last answer is not successful
 */
export const callUntilPropagated = async (
  api: Pick<Api, 'ask' | 'wait'>,
  call: ApiCall,
  within = ACCOUNT_KNOWN_WITHIN_MS,
): Promise<HttpResponse['body']> => {
  const answer = await retryUntilFinal(api, () => api.ask(call), { mayPass: mayBeTooNew, within });
  if (!isSuccess(answer)) throw errorFromResponse(call, answer);
  return answer.body;
};
