import type { ComputeManagementClientOptionalParams } from '@azure/arm-compute';
import {
  bearerTokenAuthenticationPolicy,
  createDefaultHttpClient,
  createHttpHeaders,
  createPipelineFromOptions,
  createPipelineRequest,
  type Pipeline,
  RestError,
} from '@azure/core-rest-pipeline';
import { z } from 'zod';
import { Unavailable } from '../../fencing/model/errors.ts';
import { parseJsonOrNull } from '../../fencing/model/json-text.ts';
import { type ClientOptions, endsWithinTimeout, withReadableProxy } from './client.ts';
import { withCloudfenceErrors } from './errors.ts';
import type { DefaultAzureCredential } from '@azure/identity';

/**
 * Calls Azure services for which a single call is sufficient and no SDK is needed. An SDK for each service would be
 * many times larger than the code of the call.
 */

export interface RestOptions {
  readonly credential: ClientOptions['credential'];
  /** Replaces the network. */
  readonly httpClient?: ComputeManagementClientOptionalParams['httpClient'];
}

interface RestCall {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  /** The scope of the token. */
  readonly scope: string;
  /** The name of the call in messages, such as its permission. */
  readonly name: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const RETRIES = 2;

/** Builds the policies of a call. Neither service redirects, and a token must not follow a redirect. */
const pipelineFor = ({ credential }: RestOptions, { scope }: RestCall, overTls: boolean): Pipeline => {
  const pipeline = withReadableProxy(() =>
    createPipelineFromOptions({
      retryOptions: { maxRetries: RETRIES },
      userAgentOptions: { userAgentPrefix: 'cloudfence' },
    }),
  );
  pipeline.removePolicy({ name: 'redirectPolicy' });
  pipeline.addPolicy(endsWithinTimeout);
  if (overTls) pipeline.addPolicy(bearerTokenAuthenticationPolicy({ credential, scopes: scope }), { phase: 'Sign' });
  return pipeline;
};

const problem = z.object({ error: z.object({ code: z.string() }) });

/**
 * Returns the JSON answer of a call, as `shape` parses it. Over plain HTTP, no token is sent.
 *
 * @throws Unavailable, PermissionDenied, Refused
 */
export const restCall = async <T>(
  options: RestOptions,
  call: RestCall,
  shape: z.ZodType<T>,
  signal: AbortSignal,
): Promise<T> => {
  const overTls = !call.url.startsWith('http://');
  const { method, url, body: sent } = call;
  const request = createPipelineRequest({
    method,
    url,
    headers: createHttpHeaders(call.headers),
    abortSignal: signal,
    allowInsecureConnection: !overTls,
    ...(sent !== undefined && { body: sent }),
  });
  const reply = await withCloudfenceErrors(call.name, async () => {
    const { status: statusCode, bodyAsText } = await pipelineFor(options, call, overTls).sendRequest(
      options.httpClient ?? createDefaultHttpClient(),
      request,
    );
    const body = parseJsonOrNull(bodyAsText ?? '');
    if (statusCode === 200 || statusCode === 201) return body;
    const code = problem.safeParse(body).data?.error.code;
    throw new RestError(`Azure declined ${call.name}`, { statusCode, ...(code !== undefined && { code }) });
  });
  const read = shape.safeParse(reply);
  if (read.success) return read.data;
  throw new Unavailable(`the response to ${call.name} is not valid`, { cause: read.error });
};

const usualCredential = async (): Promise<DefaultAzureCredential> =>
  new (await import('@azure/identity')).DefaultAzureCredential();

/**
 * Uses the identity from the environment, such as a managed identity. The first request that needs a token loads it.
 */
export const lazyCredential = (): Pick<DefaultAzureCredential, 'getToken'> => {
  let opened: Promise<DefaultAzureCredential> | null = null;
  const getToken: DefaultAzureCredential['getToken'] = async (scopes, options) => {
    opened ??= usualCredential();
    return (await opened).getToken(scopes, options);
  };
  return { getToken };
};
