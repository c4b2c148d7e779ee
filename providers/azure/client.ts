import { Agent } from 'node:http';
import { ComputeManagementClient, type ComputeManagementClientOptionalParams } from '@azure/arm-compute';
import { z } from 'zod';
import { nonEmptyText } from '../../fencing/model/foreign-text.ts';
import { InvalidConfiguration } from '../../fencing/model/errors.ts';
import { parseJsonOrNull } from '../../fencing/model/json-text.ts';
import type { DiskId, MachineId } from '../../fencing/model/machine.ts';
import type { OnRequestsSent } from '../plugin.ts';
import { createConnectionPool, type ConnectionPool } from '../../transport/connections.ts';
import type { PermittedPath } from '../../transport/under-permit.ts';

type Credential = ConstructorParameters<typeof ComputeManagementClient>[0];

/** How often to poll a long-running operation after Azure has accepted it. */
export interface OperationPolling {
  /** The polling interval (ms), unless ARM sets another one with `Retry-After`. */
  readonly everyMs: number;
  readonly times: number;
}

/**
 * The clients of one subscription. The SDK retries reads. Each destructive call gets its own client and is sent at most
 * once.
 */
export interface AzureClients {
  readonly subscription: string;
  readonly polling: OperationPolling;
  /** Ids of the OS disks, as the machines last named them. They only show where to read, and never replace a read. */
  readonly osDisks: Map<MachineId, DiskId>;
  readonly reads: ComputeManagementClient;
  readonly writes: (passage: PermittedPath) => ComputeManagementClient;
}

/**
 * Where to send calls, and with which credentials. Everything except the subscription and the credential is for tests
 * and unusual networks.
 */
export interface ClientOptions extends Pick<
  ComputeManagementClientOptionalParams,
  'endpoint' | 'cloudSetting' | 'credentials' | 'httpClient'
> {
  readonly subscription: string;
  readonly credential: Credential;
  readonly polling?: OperationPolling;
  readonly onRequestsSent?: OnRequestsSent | undefined;
}

/** Twenty seconds, which is how long fencing waits before it forces a detach. */
const usualFollowing: OperationPolling = { everyMs: 2_000, times: 10 };

const READ_RETRIES = 2;

const invalidUrl = z.object({ code: z.literal('ERR_INVALID_URL') });

/**
 * Builds a client. The SDK reads the proxy from the environment when the client is created.
 * @throws InvalidConfiguration if the proxy is not a URL
 */
export const withReadableProxy = <T>(build: () => T): T => {
  try {
    return build();
  } catch (cause) {
    if (!invalidUrl.safeParse(cause).success) throw cause;
    throw new InvalidConfiguration(
      [
        'the environment variable HTTPS_PROXY, HTTP_PROXY or ALL_PROXY is not a URL: write one such as ' +
          'http://proxy.example:3128',
      ],
      { cause },
    );
  }
};

/**
 * Opens a client. Over plain HTTP, the SDK sends requests only if this is allowed, and it never sends a token. Such an
 * endpoint is only for tests and demonstrations.
 */
const open = (
  subscription: string,
  credential: Credential,
  options: ComputeManagementClientOptionalParams,
  onRequestsSent: ClientOptions['onRequestsSent'],
): ComputeManagementClient => {
  const client = withReadableProxy(
    () =>
      new ComputeManagementClient(credential, subscription, { ...options, retryOptions: { maxRetries: READ_RETRIES } }),
  );
  client.pipeline.addPolicy(endsWithinTimeout);
  client.pipeline.addPolicy(onlyArmsErrors);
  client.pipeline.addPolicy(connectsBy(createConnectionPool(onRequestsSent)));
  if (options.allowInsecureConnection) client.pipeline.removePolicy({ name: 'bearerTokenAuthenticationPolicy' });
  return client;
};

/**
 * Returns the policies for a destructive call. They are the policies of a read, with the same token and connections,
 * but without retries and redirects.
 */
const orderPipeline = ({ pipeline }: ComputeManagementClient) => {
  const once = pipeline.clone();
  once.removePolicy({ name: 'defaultRetryPolicy' });
  once.removePolicy({ name: 'redirectPolicy' });
  return once;
};

export const azureClients = ({
  subscription,
  credential,
  polling = usualFollowing,
  onRequestsSent,
  ...where
}: ClientOptions): AzureClients => {
  const allowInsecureConnection = where.endpoint?.startsWith('http://') ?? false;
  const options: ComputeManagementClientOptionalParams = {
    ...where,
    allowInsecureConnection,
    userAgentOptions: { userAgentPrefix: 'cloudfence' },
  };
  const reads = open(subscription, credential, options, onRequestsSent);
  const writes = (passage: PermittedPath): ComputeManagementClient => {
    const pipeline = orderPipeline(reads);
    pipeline.addPolicy(permitted(passage), LAST);
    return new ComputeManagementClient(credential, subscription, { ...options, pipeline });
  };
  return { subscription, polling, osDisks: new Map(), reads, writes };
};

type Policy = Parameters<ComputeManagementClient['pipeline']['addPolicy']>[0];

/** The last step before the request is sent. Every wait for a token comes before it. */
const LAST = { afterPhase: 'Sign' } as const;

/** Sends a destructive call through its permit. Later requests about the operation need no permit. */
const permitted = ({ check, through }: PermittedPath): Policy => ({
  name: 'permitted',
  sendRequest: async (request, next) => {
    if (request.method === 'GET') return next(request);
    check();
    if (request.agent instanceof Agent) request.agent = through(request.agent);
    return next(request);
  },
});

/** Uses Cloudfence's connections, unless a proxy from the environment has already set its own agent. */
const connectsBy = ({ http, https }: ConnectionPool): Policy => ({
  name: 'connectsByOurs',
  sendRequest: (request, next) => {
    request.agent ??= request.url.startsWith('http:') ? http : https;
    return next(request);
  },
});

/** In ms. ARM is sometimes slow, but a slower answer would come too late for a proof. */
const REQUEST_LASTS_MS = 10_000;

export const endsWithinTimeout: Policy = {
  name: 'endsInTime',
  sendRequest: (request, next) => {
    request.timeout = REQUEST_LASTS_MS;
    return next(request);
  },
};

/**
 * https://learn.microsoft.com/azure/azure-resource-manager/management/azure-services-resource-providers#error-response
 */
const armError = z.object({ error: z.object({ code: nonEmptyText, message: z.string() }) });

/**
 * Removes the body of an error that does not have ARM's format. The SDK uses the `code` of any answer. An answer in
 * another format comes from a server in between, such as a proxy, and its code has no meaning for Cloudfence.
 */
const onlyArmsErrors: Policy = {
  name: 'onlyArmsErrors',
  sendRequest: async (request, next) => {
    const response = await next(request);
    const isError = response.status >= 400 && response.status < 500;
    return isError && !armError.safeParse(parseJsonOrNull(response.bodyAsText ?? '')).success
      ? { ...response, bodyAsText: null }
      : response;
  },
};

/** The endpoints of ARM in public Azure and in the sovereign clouds. */

const PUBLIC = 'https://management.azure.com';

/**
 * Each sovereign endpoint has a name like the public one, and its tokens are issued for its own name.
 * https://learn.microsoft.com/azure/azure-government/compare-azure-government-global-azure
 */
const SOVEREIGN = /^https:\/\/(management\.(?:chinacloudapi\.cn|usgovcloudapi\.net))\/?$/i;

export const armUrl = (endpoint: string | null): string => (endpoint ?? PUBLIC).replace(/\/$/, '');

/** Returns the token scope for an endpoint. Every endpoint that is not a sovereign one uses the scope of public ARM. */
export const armScope = (endpoint: string | null): string => {
  const host = SOVEREIGN.exec(endpoint ?? '')?.[1];
  return host === undefined ? `${PUBLIC}/.default` : `https://${host.toLowerCase()}/.default`;
};
