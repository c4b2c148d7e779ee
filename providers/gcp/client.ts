import { DisksClient } from '@google-cloud/compute/build/src/v1/disks_client.js';
import { InstancesClient } from '@google-cloud/compute/build/src/v1/instances_client.js';
import { RegionDisksClient } from '@google-cloud/compute/build/src/v1/region_disks_client.js';
import { ZoneOperationsClient } from '@google-cloud/compute/build/src/v1/zone_operations_client.js';
import type { gaxios } from 'google-auth-library';
import { ProofExpired } from '../../fencing/model/errors.ts';
import { createConnectionPool } from '../../transport/connections.ts';
import { type PermittedPath, type PermittedCall, underPermit } from '../../transport/under-permit.ts';
import type { OnRequestsSent } from '../plugin.ts';
import { createAuth, isAnonymous, loadCredentials, projectOfCredentials } from './credentials.ts';
import { isComputeUrl, withCloudfenceErrors } from './errors.ts';

/** The four services in use, loaded with deep imports. The package's index loads a hundred services and 30 MB. */
export interface ComputeClients {
  /** True if no credentials are sent. */
  readonly anonymous: boolean;
  readonly instances: InstancesClient;
  readonly disks: DisksClient;
  readonly regionDisks: RegionDisksClient;
  readonly operations: ZoneOperationsClient;
  /**
   * Finds the credentials. Every call must do this first. Without credentials, the SDK ends the whole process.
   *
   * @throws PermissionDenied
   */
  readonly ready: () => Promise<void>;
  /** Sends one destructive call under its permit. A destructive call without a permit is never sent. */
  readonly permitted: GuardedTransport['permitted'];
}

interface ClientOptions {
  /** Creates a new UUID for each destructive call. Compute Engine uses it to recognize a call that arrives twice. */
  readonly newRequestId: () => string;
  /** URL of another endpoint, for tests and unusual networks. Over plain HTTP, no credentials are sent. */
  readonly endpoint?: string;
  /** Replaces the network. */
  readonly fetch?: Fetch;
  readonly onRequestsSent?: OnRequestsSent | undefined;
}

const SCOPES = ['https://www.googleapis.com/auth/compute'];

export const computeClients = ({ newRequestId, endpoint, fetch, onRequestsSent }: ClientOptions): ComputeClients => {
  const { adapter, permitted } = guardedTransport(newRequestId, onRequestsSent);
  const transporterOptions = { adapter, ...(fetch && { fetchImplementation: fetch }) };
  const endpointOptions = endpoint === undefined ? null : endpointParts(endpoint);
  const auth = createAuth({ scopes: SCOPES, ...(endpoint !== undefined && { endpoint }), transporterOptions });
  const options = { fallback: true, auth, libName: 'cloudfence', libVersion: '0', ...endpointOptions };
  return {
    anonymous: isAnonymous(endpoint),
    ready: () => loadCredentials(auth, transporterOptions),
    instances: new InstancesClient({ ...options }),
    disks: new DisksClient({ ...options }),
    regionDisks: new RegionDisksClient({ ...options }),
    operations: new ZoneOperationsClient({ ...options }),
    permitted,
  };
};

/** Splits a URL, because the SDK accepts only its parts. */
const endpointParts = (endpoint: string) => {
  const { protocol, hostname, port } = new URL(endpoint);
  const usual = protocol === 'http:' ? 80 : 443;
  return { protocol: protocol.slice(0, -1), apiEndpoint: hostname, port: port === '' ? usual : Number(port) };
};

type Adapter = NonNullable<gaxios.GaxiosOptions['adapter']>;
export type Fetch = NonNullable<gaxios.GaxiosOptions['fetchImplementation']>;

/** The values with which a destructive call must be sent. */
interface Sending {
  readonly requestId: string;
  readonly signal: AbortSignal;
}

interface GuardedTransport {
  /** The last step before the request is sent. All waits for credentials come before this step. */
  readonly adapter: Adapter;
  readonly permitted: <T>(call: PermittedCall, send: (sending: Sending) => Promise<T>) => Promise<T>;
}

/** Returns whether a call changes something. Waiting for an operation and testing permissions change nothing. */
const isDestructive = (method: string | undefined, url: URL): boolean =>
  method !== 'GET' && isComputeUrl(url) && !/\/(?:wait|testIamPermissions)$/.test(url.pathname);

/**
 * Checks the permit after the SDK has found credentials and before the connection is used. The SDK has no hook at that
 * point, and no hook that identifies the call. So each destructive call is identified by its request id. A call without
 * a registered permit is not sent. A destructive call does not follow redirects either.
 */
const guardedTransport = (
  newRequestId: () => string,
  onRequestsSent: ClientOptions['onRequestsSent'],
): GuardedTransport => {
  const passages = new Map<string, PermittedPath>();
  const [toCompute, elsewhere] = [createConnectionPool(onRequestsSent), createConnectionPool()];
  const passageOf = (url: URL): PermittedPath => {
    const passage = passages.get(url.searchParams.get('requestId') ?? '');
    if (!passage) throw new ProofExpired('the permit of a destructive call ended before Cloudfence sent the call');
    passage.check();
    return passage;
  };
  return {
    adapter: async (request, send) => {
      // Requests for a token come before requests about machines.
      const { http, https } = isComputeUrl(request.url) ? toCompute : elsewhere;
      const agent = request.url.protocol === 'http:' ? http : https;
      request.signal?.throwIfAborted();
      if (!isDestructive(request.method, request.url)) return send({ ...request, agent });
      return send({ ...request, agent: passageOf(request.url).through(agent), redirect: 'error' });
    },
    permitted: (call, send) =>
      underPermit(call, async (passage) => {
        const requestId = newRequestId();
        passages.set(requestId, passage);
        try {
          return await send({ requestId, signal: passage.signal });
        } finally {
          passages.delete(requestId);
        }
      }),
  };
};

/** How long calls may take and how often they are sent. Times are in ms. */

const ANSWER_LASTS_MS = 5_000;
const READ_LASTS_MS = 10_000;

/** A gRPC code. The SDK uses these codes on any transport. */
const UNAVAILABLE = 14;

/**
 * Returns the options of a read. The SDK retries it for some seconds. Its own default is ten minutes. The options are
 * new for each call, because the SDK writes into them.
 */
export const readCallOptions = (signal: AbortSignal) => ({
  signal,
  timeout: ANSWER_LASTS_MS,
  retry: {
    retryCodes: [UNAVAILABLE],
    backoffSettings: {
      initialRetryDelayMillis: 200,
      retryDelayMultiplier: 2,
      maxRetryDelayMillis: 2_000,
      initialRpcTimeoutMillis: ANSWER_LASTS_MS,
      rpcTimeoutMultiplier: 1,
      maxRpcTimeoutMillis: ANSWER_LASTS_MS,
      totalTimeoutMillis: READ_LASTS_MS,
    },
  },
});

/** Returns the options of a destructive call, which is sent at most once. */
export const destructiveCallOptions = (signal: AbortSignal) => ({ signal, timeout: ANSWER_LASTS_MS, retry: null });

/**
 * Returns the options of a wait, which the API answers after two minutes at the latest.
 * https://cloud.google.com/compute/docs/reference/rest/v1/zoneOperations/wait
 */
export const waitCallOptions = (signal: AbortSignal) => ({ signal, timeout: 130_000, retry: null });

/** Returns whether there are credentials, and for which project. @throws PermissionDenied, Unavailable */
export const describeCredentials = (clients: ComputeClients, signal: AbortSignal): Promise<string> =>
  withCloudfenceErrors(clients, 'the search for credentials', signal, async () => {
    if (clients.anonymous) return 'Cloudfence uses no credentials over plain HTTP';
    await clients.instances.auth.getAccessToken();
    return `found credentials for project ${await projectOfCredentials()}`;
  });
