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
import { Unavailable, InvalidConfiguration } from '../../fencing/model/errors.ts';
import { parseJsonOrNull } from '../../fencing/model/json-text.ts';
import { type ClientOptions, endsWithinTimeout, withReadableProxy } from './client.ts';
import { withCloudfenceErrors } from './errors.ts';
import type { DefaultAzureCredential } from '@azure/identity';
import { quoteBeginning } from '../../fencing/model/foreign-text.ts';

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

/** A message for a Service Bus queue. */
export interface OutgoingMessage {
  readonly text: string;
  /** The earliest delivery time of the message (epoch ms). Null means immediately. */
  readonly notBefore: number | null;
  readonly properties: Readonly<Record<string, string>>;
}

export type SendMessage = (queue: string, message: OutgoingMessage) => Promise<void>;

interface ServiceBusOptions extends RestOptions {
  /** `<namespace>.servicebus.windows.net`, or a URL. */
  readonly host: string;
}

const SCOPE = 'https://servicebus.azure.net/.default';
const SENDING_LASTS_MS = 10_000;

/**
 * Quotes the value of a property. Properties are sent as headers. Characters that headers or quotes cannot contain are
 * replaced.
 */
const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7e]/g, '?')}"`;

const headersOf = ({ notBefore, properties }: OutgoingMessage): Readonly<Record<string, string>> => ({
  'content-type': 'application/json',
  ...(notBefore !== null && {
    BrokerProperties: JSON.stringify({ ScheduledEnqueueTimeUtc: new Date(notBefore).toUTCString() }),
  }),
  ...Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, quoted(value)])),
});

const originOf = (host: string): string => {
  const url = /^https?:/i.test(host) ? host : `https://${host}`;
  if (URL.canParse(url)) return new URL(url).origin;
  throw new InvalidConfiguration([
    `${quoteBeginning(host)} is not the host of a Service Bus namespace: set ` +
      'CLOUDFENCE_BUS__fullyQualifiedNamespace to one such as my-bus.servicebus.windows.net',
  ]);
};

/**
 * Returns a function that sends messages to the queues of one namespace.
 * https://learn.microsoft.com/rest/api/servicebus/send-message-to-queue
 *
 * @throws InvalidConfiguration; sending throws Unavailable, PermissionDenied, Refused
 */
export const createSender = ({ host, ...options }: ServiceBusOptions): SendMessage => {
  const origin = originOf(host);
  return async (queue, message) => {
    const url = `${origin}/${encodeURIComponent(queue)}/messages`;
    const call = {
      method: 'POST',
      url,
      scope: SCOPE,
      name: 'ServiceBus/namespaces/messages/send/action',
      headers: headersOf(message),
      body: message.text,
    } as const;
    await restCall(options, call, z.unknown(), AbortSignal.timeout(SENDING_LASTS_MS));
  };
};
