import { Agent } from 'node:http';
import { ComputeManagementClient, type ComputeManagementClientOptionalParams } from '@azure/arm-compute';
import { z } from 'zod';
import { jsonIn } from '../../fencing/model/json-text.ts';
import type { DiskId, MachineId } from '../../fencing/model/machine.ts';
import { connections, type Connections } from '../../transport/pool.ts';
import type { Passage } from '../../transport/under-permit.ts';

type Credential = ConstructorParameters<typeof ComputeManagementClient>[0];

/** How often a long-running operation is asked about once it was accepted. */
export interface Following {
  /** Between two questions (ms), unless ARM asks for another pace. */
  readonly everyMs: number;
  readonly times: number;
}

/** Reads are retried by the SDK; an order has a client of its own, and leaves once or not at all. */
export interface AzureClients {
  readonly subscription: string;
  readonly following: Following;
  /** Ids of the OS disks, as the machines named them last: where to read, never what was read. */
  readonly osDisks: Map<MachineId, DiskId>;
  readonly reads: ComputeManagementClient;
  readonly writes: (passage: Passage) => ComputeManagementClient;
}

/** Where to call and as whom; all but the first two is for tests and unusual networks. */
export interface ClientOptions extends Pick<
  ComputeManagementClientOptionalParams,
  'endpoint' | 'cloudSetting' | 'credentials' | 'httpClient'
> {
  readonly subscription: string;
  readonly credential: Credential;
  readonly following?: Following;
}

/** Twenty seconds: as long as fencing waits before it forces what did not come off. */
const usualFollowing: Following = { everyMs: 2_000, times: 10 };

const READ_RETRIES = 2;

/** Over plain HTTP the SDK sends nothing unless told so, and never a token: an endpoint of tests and demonstrations. */
const open = (
  subscription: string,
  credential: Credential,
  options: ComputeManagementClientOptionalParams,
): ComputeManagementClient => {
  const client = new ComputeManagementClient(credential, subscription, {
    ...options,
    retryOptions: { maxRetries: READ_RETRIES },
  });
  client.pipeline.addPolicy(endsInTime);
  client.pipeline.addPolicy(onlyArmsErrors);
  client.pipeline.addPolicy(connectsBy(connections()));
  if (options.allowInsecureConnection) client.pipeline.removePolicy({ name: 'bearerTokenAuthenticationPolicy' });
  return client;
};

/**
 * An order goes through the same policies as a read, with the same token and connections; but it is neither sent again
 * nor sent elsewhere.
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
  following = usualFollowing,
  ...where
}: ClientOptions): AzureClients => {
  const allowInsecureConnection = where.endpoint?.startsWith('http://') ?? false;
  const options: ComputeManagementClientOptionalParams = {
    ...where,
    allowInsecureConnection,
    userAgentOptions: { userAgentPrefix: 'cloudfence' },
  };
  const reads = open(subscription, credential, options);
  const writes = (passage: Passage): ComputeManagementClient => {
    const pipeline = orderPipeline(reads);
    pipeline.addPolicy(permitted(passage), LAST);
    return new ComputeManagementClient(credential, subscription, { ...options, pipeline });
  };
  return { subscription, following, osDisks: new Map(), reads, writes };
};

type Policy = Parameters<ComputeManagementClient['pipeline']['addPolicy']>[0];

/** The last place before the wire: every wait for a token lies before. */
const LAST = { afterPhase: 'Sign' } as const;

/** An order leaves by its passage. Questions about it afterwards need none. */
const permitted = ({ check, through }: Passage): Policy => ({
  name: 'permitted',
  sendRequest: async (request, next) => {
    if (request.method === 'GET') return next(request);
    check();
    if (request.agent instanceof Agent) request.agent = through(request.agent);
    return next(request);
  },
});

/** A proxy that the environment names has put an agent of its own there before. */
const connectsBy = ({ http, https }: Connections): Policy => ({
  name: 'connectsByOurs',
  sendRequest: (request, next) => {
    request.agent ??= request.url.startsWith('http:') ? http : https;
    return next(request);
  },
});

/** In ms. ARM is slow at times, but an answer that takes longer comes too late for any proof. */
const REQUEST_LASTS_MS = 10_000;

export const endsInTime: Policy = {
  name: 'endsInTime',
  sendRequest: (request, next) => {
    request.timeout = REQUEST_LASTS_MS;
    return next(request);
  },
};

/**
 * https://learn.microsoft.com/azure/azure-resource-manager/management/azure-services-resource-providers#error-response
 */
const armError = z.object({ error: z.object({ code: z.string().min(1), message: z.string() }) });

/**
 * The SDK takes a `code` from whatever was answered. What is not in ARM's form is the word of something between us and
 * ARM, such as a proxy's page, and has no code for us.
 */
const onlyArmsErrors: Policy = {
  name: 'onlyArmsErrors',
  sendRequest: async (request, next) => {
    const response = await next(request);
    const isError = response.status >= 400 && response.status < 500;
    return isError && !armError.safeParse(jsonIn(response.bodyAsText ?? '')).success
      ? { ...response, bodyAsText: null }
      : response;
  },
};

/** ARM of public Azure, and of the clouds that are apart from it. */

const PUBLIC = 'https://management.azure.com';

/**
 * Each of them is named like the public one, and gives its tokens for its own name.
 * https://learn.microsoft.com/azure/azure-government/compare-azure-government-global-azure
 */
const SOVEREIGN = /^https:\/\/(management\.(?:chinacloudapi\.cn|usgovcloudapi\.net))\/?$/i;

export const armUrl = (endpoint: string | null): string => (endpoint ?? PUBLIC).replace(/\/$/, '');

/** What a token for that endpoint has to be for: any other endpoint stands before the public ARM. */
export const armScope = (endpoint: string | null): string => {
  const host = SOVEREIGN.exec(endpoint ?? '')?.[1];
  return host === undefined ? `${PUBLIC}/.default` : `https://${host.toLowerCase()}/.default`;
};
