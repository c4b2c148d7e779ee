import { type GoogleAuth, PassThroughClient } from 'google-auth-library';
import { z } from 'zod';
import { minLength, nonEmptyText, encodePart } from '../../../fencing/model/foreign-text.ts';
import {
  PermissionDenied,
  InvalidConfiguration,
  CloudfenceError,
  Refused,
  Unavailable,
} from '../../../fencing/model/errors.ts';
import { wrongCloudError } from '../../cluster-entries.ts';
import type { CloudAccess } from '../../plugin.ts';
import type { Fetch } from '../client.ts';
import { createAuth, loadCredentials } from '../credentials.ts';
import { abortOnSignal } from '../../../fencing/loop/ports.ts';
import { describeNetworkError, firstLineOf } from '../../../transport/answers.ts';

/** Gives access to clusters that GKE manages, and to kubeconfigs in Secret Manager. */
export const gcpAccess = (options: RestOptions): CloudAccess => {
  const auth = platformAuth(options);
  return {
    managedCluster: async (entry, signal) => {
      if (!('gke' in entry)) throw wrongCloudError('gcp', entry);
      const { cluster = entry.name, ...location } = entry.gke;
      return {
        ...(await readGkeEndpoint(auth, options, { ...location, cluster }, signal)),
        token: gkeTokenProvider(auth),
      };
    },
    secret: async (entry, signal) => {
      if (!('secretManager' in entry)) throw wrongCloudError('gcp', entry);
      return readSecret(auth, options, entry.secretManager, signal);
    },
  };
};

/** Connects to the API server of a GKE cluster with the given OAuth token. */

export interface GkeCluster {
  readonly project: string;
  readonly location: string;
  readonly cluster: string;
}

export interface GkeEndpoint {
  readonly server: string;
  /** PEM. Null if the endpoint has a DNS name and a public certificate. */
  readonly ca: string | null;
}

/** https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters */
const described = z.object({
  endpoint: z.string().optional(),
  status: z.string().optional(),
  masterAuth: z.object({ clusterCaCertificate: z.base64().optional() }).default({}),
  controlPlaneEndpointsConfig: z
    .object({
      dnsEndpointConfig: z
        .object({ endpoint: nonEmptyText.optional(), allowExternalTraffic: z.boolean().default(false) })
        .default({ allowExternalTraffic: false }),
      ipEndpointsConfig: z
        .object({ enabled: z.boolean().optional(), enablePublicEndpoint: z.boolean().optional() })
        .default({}),
    })
    .prefault({}),
});

type Described = z.infer<typeof described>;

/**
 * Returns the DNS name of a cluster whose address is reachable only from its own network, if external traffic to that
 * name is allowed.
 */
const named = ({ controlPlaneEndpointsConfig: { dnsEndpointConfig, ipEndpointsConfig } }: Described): string | null => {
  const publicAddress = ipEndpointsConfig.enabled !== false && ipEndpointsConfig.enablePublicEndpoint !== false;
  return publicAddress || !dnsEndpointConfig.allowExternalTraffic ? null : (dnsEndpointConfig.endpoint ?? null);
};

/**
 * Returns the endpoint of a GKE cluster.
 *
 * @throws Unavailable, PermissionDenied, Refused, InvalidConfiguration (if the cluster exists but has no endpoint yet)
 */
export const readGkeEndpoint = async (
  auth: GoogleAuth,
  options: RestOptions,
  { project, location, cluster }: GkeCluster,
  signal: AbortSignal,
): Promise<GkeEndpoint> => {
  const path = `/v1/projects/${project}/locations/${location}/clusters/${encodePart(cluster)}`;
  const found = await restGet(
    auth,
    options,
    { host: 'container.googleapis.com', path, name: 'container.clusters.get' },
    described,
    signal,
  );
  const name = named(found);
  if (name !== null) return { server: `https://${name}`, ca: null };
  const { endpoint, masterAuth, status = 'unknown' } = found;
  if (endpoint === undefined || masterAuth.clusterCaCertificate === undefined)
    throw new InvalidConfiguration([`GKE cluster ${cluster} has no endpoint: its status is ${status}`]);
  return { server: `https://${endpoint}`, ca: Buffer.from(masterAuth.clusterCaCertificate, 'base64').toString() };
};

/** Returns a function that returns the token. The library refreshes the token in time. @throws PermissionDenied */
export const gkeTokenProvider = (auth: GoogleAuth) => async (): Promise<string> => {
  const token = await accessToken(auth);
  if (typeof token !== 'string') throw new PermissionDenied('Google Cloud returned no access token for GKE');
  return token;
};

export interface StoredSecret {
  /**
   * `projects/<project>/secrets/<name>`, or `projects/<project>/locations/<location>/secrets/<name>` for a regional
   * secret.
   */
  readonly secret: string;
  /** A number, an alias, or `latest`. */
  readonly version: string;
}

const held = z
  .object({ payload: z.object({ data: z.base64().check(minLength(1)) }) })
  .transform(({ payload }) => Buffer.from(payload.data, 'base64').toString());

/**
 * Returns the host of a secret. Only the region of a regional secret serves it.
 * https://cloud.google.com/secret-manager/regional-secrets/regional-secrets-overview
 */
const hostOf = (secret: string): string => {
  const location = /\/locations\/([^/]+)\//.exec(secret)?.[1];
  return location === undefined ? 'secretmanager.googleapis.com' : `secretmanager.${location}.rep.googleapis.com`;
};

/**
 * Returns the text of a secret.
 * https://cloud.google.com/secret-manager/docs/access-secret-version
 *
 * @throws Unavailable, PermissionDenied, Refused
 */
export const readSecret = (
  auth: GoogleAuth,
  options: RestOptions,
  { secret, version }: StoredSecret,
  signal: AbortSignal,
): Promise<string> =>
  restGet(
    auth,
    options,
    { host: hostOf(secret), path: `/v1/${secret}/versions/${version}:access`, name: 'secretmanager.versions.access' },
    held,
    signal,
  );

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

/** The service's own sentence, if the answer has Google's format. */
const failedAnswer = z.object({
  response: z.object({ data: z.object({ error: z.object({ message: nonEmptyText }) }) }),
});

const sentenceIn = (caught: unknown): string => {
  const message = failedAnswer.safeParse(caught).data?.response.data.error.message;
  return message === undefined ? '' : `: ${firstLineOf(message)}`;
};

/** Translates an error by its status, never by its message. A token service rejects a request with a plain 400. */
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

/** Returns a token for a service that another module calls. @throws Unavailable, PermissionDenied */
export const accessToken = async (auth: GoogleAuth): Promise<string | null | undefined> => {
  await loadCredentials(auth);
  return auth.getAccessToken().catch((caught: unknown) => {
    throw toCloudfenceError(caught, 'the token service', '');
  });
};
