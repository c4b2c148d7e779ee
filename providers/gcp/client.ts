import { DisksClient } from '@google-cloud/compute/build/src/v1/disks_client.js';
import { InstancesClient } from '@google-cloud/compute/build/src/v1/instances_client.js';
import { RegionDisksClient } from '@google-cloud/compute/build/src/v1/region_disks_client.js';
import { ZoneOperationsClient } from '@google-cloud/compute/build/src/v1/zone_operations_client.js';
import { type gaxios, GoogleAuth, PassThroughClient } from 'google-auth-library';
import { Denied, ProofExpired } from '../../fencing/model/errors.ts';
import { connections } from '../../transport/pool.ts';
import { type Passage, type PermittedCall, underPermit } from '../../transport/under-permit.ts';
import { isCompute, withCloudfenceErrors } from './errors.ts';

/** The four services that are used, by deep imports: the package's index loads a hundred of them, and 30 MB. */
export interface ComputeClients {
  /** No credentials are sent. */
  readonly anonymous: boolean;
  readonly instances: InstancesClient;
  readonly disks: DisksClient;
  readonly regionDisks: RegionDisksClient;
  readonly operations: ZoneOperationsClient;
  /**
   * Finds the credentials, which every call needs first: for want of them, the SDK itself ends the whole process.
   * @throws Denied
   */
  readonly ready: () => Promise<void>;
  /** Sends one destructive call under its permit; a call without one never leaves. */
  readonly permitted: GuardedTransport['permitted'];
}

interface ClientOptions {
  /** A new UUID for each destructive call, by which Compute Engine knows a call that arrives twice. */
  readonly newRequestId: () => string;
  /** URL of another endpoint, for tests and unusual networks. Over plain http no credentials are sent. */
  readonly endpoint?: string;
  /** In the place of the network. */
  readonly fetch?: Fetch;
}

const SCOPES = ['https://www.googleapis.com/auth/compute'];

export const computeClients = ({ newRequestId, endpoint, fetch }: ClientOptions): ComputeClients => {
  const { adapter, permitted } = guardedTransport(newRequestId);
  const transporterOptions = { adapter, ...(fetch && { fetchImplementation: fetch }) };
  const place = endpoint === undefined ? null : placeOf(endpoint);
  const anonymous = place?.protocol === 'http';
  const auth: GoogleAuth = anonymous
    ? new GoogleAuth({ authClient: new PassThroughClient({ transporterOptions }) })
    : new GoogleAuth({ scopes: SCOPES, clientOptions: { transporterOptions } });
  const options = { fallback: true, auth, libName: 'cloudfence', libVersion: '0', ...place };
  return {
    anonymous,
    ready: () => credentialsIn(auth),
    instances: new InstancesClient({ ...options }),
    disks: new DisksClient({ ...options }),
    regionDisks: new RegionDisksClient({ ...options }),
    operations: new ZoneOperationsClient({ ...options }),
    permitted,
  };
};

/** @throws Denied where there are none */
export const credentialsIn = async (auth: GoogleAuth): Promise<void> => {
  try {
    await auth.getClient();
  } catch (cause) {
    throw new Denied('no credentials for Google Cloud were found', { cause });
  }
};

/** The SDK wants the parts of a URL one by one. */
const placeOf = (endpoint: string) => {
  const { protocol, hostname, port } = new URL(endpoint);
  const usual = protocol === 'http:' ? 80 : 443;
  return { protocol: protocol.slice(0, -1), apiEndpoint: hostname, port: port === '' ? usual : Number(port) };
};

type Adapter = NonNullable<gaxios.GaxiosOptions['adapter']>;
export type Fetch = NonNullable<gaxios.GaxiosOptions['fetchImplementation']>;

/** What a destructive call has to be sent with. */
interface Sending {
  readonly requestId: string;
  readonly signal: AbortSignal;
}

interface GuardedTransport {
  /** The last step before the wire: credentials, and every wait for them, lie before it. */
  readonly adapter: Adapter;
  readonly permitted: <T>(call: PermittedCall, send: (sending: Sending) => Promise<T>) => Promise<T>;
}

/** Calls that change something; waiting for an operation and asking what one may do are none. */
const isDestructive = (method: string | undefined, url: URL): boolean =>
  method !== 'GET' && isCompute(url) && !/\/(?:wait|testIamPermissions)$/.test(url.pathname);

/**
 * The SDK has no hook of its own between its credentials and the connection, and none that knows which call is going
 * through. So each destructive call is known by its request id, and one whose passage is not on file is not sent. It is
 * not sent on to where an answer points, either.
 */
const guardedTransport = (newRequestId: () => string): GuardedTransport => {
  const passages = new Map<string, Passage>();
  const { http, https } = connections();
  const passageOf = (url: URL): Passage => {
    const passage = passages.get(url.searchParams.get('requestId') ?? '');
    if (!passage) throw new ProofExpired('a destructive call had no permit any more; it was not sent');
    passage.check();
    return passage;
  };
  return {
    adapter: async (request, send) => {
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

/** How long calls may take, and how often they are sent. Times in ms. */

const ANSWER_LASTS_MS = 5_000;
const READ_LASTS_MS = 10_000;

/** Of gRPC, by which the SDK counts whatever the wire. */
const UNAVAILABLE = 14;

/**
 * A read is tried again by the SDK for some seconds: its own default is ten minutes. New for each call, for the SDK
 * writes into it.
 */
export const reading = (signal: AbortSignal) => ({
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

/** A destructive call leaves once or not at all. */
export const writing = (signal: AbortSignal) => ({ signal, timeout: ANSWER_LASTS_MS, retry: null });

/**
 * The API answers a wait after two minutes at the latest.
 * https://cloud.google.com/compute/docs/reference/rest/v1/zoneOperations/wait
 */
export const waiting = (signal: AbortSignal) => ({ signal, timeout: 130_000, retry: null });

/** Whether there are credentials, and for which project, in words. @throws Denied, Unavailable */
export const credentialsFound = (clients: ComputeClients, signal: AbortSignal): Promise<string> =>
  withCloudfenceErrors(clients, 'the search for credentials', signal, async () => {
    const { auth } = clients.instances;
    if (clients.anonymous) return 'no credentials are used over plain http';
    await auth.getAccessToken();
    return `credentials are found, of the project ${await auth.getProjectId()}`;
  });
