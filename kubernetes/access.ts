import { Agent as ClearAgent } from 'node:http';
import { Agent, type RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import {
  type RequestContext,
  type SecurityAuthentication,
  type V1Secret,
  CoreV1Api,
} from '@kubernetes/client-node/dist/gen/index.js';
import { HttpProxyAgent, HttpsProxyAgent } from 'hpagent';
import { abortOnSignal } from '../fencing/loop/ports.ts';
import { CloudfenceError, InvalidConfiguration, Unavailable } from '../fencing/model/errors.ts';
import { bearerAuthentication, httpsLink, type Link, POOL_OPTIONS, closeWhenIdle } from './exchange.ts';
import {
  chosenKubeConfig,
  type KubeConfigText,
  execPluginUserOf,
  redactedKubeconfigError,
  refuseSendingInClear,
} from './kubeconfig.ts';
import type { CallClock, Connection } from './connection.ts';

/** Creates a link to an API server from a kubeconfig, a token, or a secret that is refreshed. */

/**
 * A credential program may ask a person to log in. So for such a user, no connection is opened ahead: the program
 * starts only when a request needs its credential.
 */
const linkOf = (config: KubeConfig): Link => {
  const link = httpsLink({
    server: config.getCurrentCluster()?.server ?? '',
    authentication: kubeConfigAuthentication(config),
    agent: kubeConfigAgent(config),
    unverified: config.getCurrentCluster()?.skipTLSVerify ?? false,
  });
  return execPluginUserOf(config) === null ? link : { ...link, connect: async () => undefined };
};

/**
 * Creates a link from kubeconfigs, merged in the given order. Supports tokens, client certificates, and exec plugins as
 * far as the client library does. https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
 * @throws InvalidConfiguration
 */
export const linkFromKubeConfigs = (texts: readonly KubeConfigText[], context: string | null): Link =>
  linkOf(chosenKubeConfig(texts, context));

/** Creates a link from one kubeconfig that was not read from a file. @throws InvalidConfiguration */
export const linkFromKubeConfig = (content: string, context: string | null): Link =>
  linkFromKubeConfigs([{ content, file: null }], context);

const optionsOf = async (config: KubeConfig): Promise<RequestOptions> => {
  const options: RequestOptions = {};
  try {
    await config.applyToHTTPSOptions(options);
    return options;
  } catch (caught) {
    throw redactedKubeconfigError(config, caught);
  }
};

/** Authenticates each request. Asks KubeConfig every time, because KubeConfig renews expired credentials. */
const kubeConfigAuthentication = (config: KubeConfig): SecurityAuthentication => ({
  getName: () => 'kubeconfig',
  applySecurityAuthentication: async (request) => {
    const { headers, auth } = await optionsOf(config);
    if (typeof auth === 'string')
      request.setHeaderParam('Authorization', `Basic ${Buffer.from(auth).toString('base64')}`);
    for (const [name, value] of Object.entries(headers ?? {})) request.setHeaderParam(name, String(value));
  },
});

const trustOf = ({ ca, cert, key, rejectUnauthorized, servername }: RequestOptions) => ({
  ...(ca !== undefined && { ca }),
  ...(cert !== undefined && { cert }),
  ...(key !== undefined && { key }),
  ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
  ...(servername !== undefined && { servername }),
});

/**
 * Creates the connection pool for the current cluster. A server on plain http gets a credential only if it runs on this
 * machine, which `chosenKubeConfig` has checked.
 */
const createAgentFor = (config: KubeConfig, options: RequestOptions): ClearAgent => {
  const { server, proxyUrl } = config.getCurrentCluster() ?? { server: '' };
  const clear = server.startsWith('http:');
  if (!proxyUrl) return clear ? new ClearAgent(POOL_OPTIONS) : new Agent({ ...POOL_OPTIONS, ...trustOf(options) });
  if (proxyUrl.startsWith('socks')) throw new InvalidConfiguration(['a SOCKS proxy in a kubeconfig is not supported']);
  return clear
    ? new HttpProxyAgent({ ...POOL_OPTIONS, proxy: proxyUrl })
    : new HttpsProxyAgent({ ...POOL_OPTIONS, ...trustOf(options), proxy: proxyUrl });
};

/**
 * Returns one pool for all requests. Creates a new pool only when an exec plugin provides a different client
 * certificate.
 */
const kubeConfigAgent = (config: KubeConfig): (() => Promise<ClearAgent>) => {
  let shared: { readonly agent: ClearAgent; readonly certificate: string } | null = null;
  return async () => {
    const options = await optionsOf(config);
    const certificate = String(options.cert ?? '');
    if (shared?.certificate === certificate) return shared.agent;
    if (shared) closeWhenIdle(shared.agent);
    shared = { agent: createAgentFor(config, options), certificate };
    return shared.agent;
  };
};

interface TokenAccess {
  readonly server: string;
  /** The certificate authority (PEM) of the server's certificate; null if a public authority issued the certificate. */
  readonly ca: string | null;
  /** Called before each request, so that it can refresh the token in time. */
  readonly token: () => Promise<string>;
}

/** Creates a link to a managed API server. The cloud provides the tokens. @throws InvalidConfiguration */
export const linkFromToken = ({ server, ca, token }: TokenAccess): Link => {
  refuseSendingInClear(server);
  const agent = new Agent({ ...POOL_OPTIONS, ...(ca !== null && { ca }) });
  return httpsLink({ server, authentication: bearerAuthentication(token), agent: async () => agent });
};

/** Where the access to a cluster is read, and how long to keep it. */
interface Refreshing {
  readonly open: () => Promise<Link>;
  readonly clock: Pick<CallClock, 'now' | 'deadline'>;
  /** How long to use the access before it is read again, in ms. */
  readonly keptFor: number;
}

const UNAUTHORIZED = 401;
/**
 * After a 401, the access is not read again if it was read less than this time ago. In that case the access itself is
 * wrong, and the caller gets the 401.
 */
const FRESH_FOR_MS = 5_000;
/** The shortest time between two attempts to read the access that no 401 demands, in ms. */
const RETRIED_AFTER_MS = 30_000;

/** The access has to arrive within this time (ms). Otherwise, later requests would wait for it for ever. */
const OPENS_WITHIN_MS = 20_000;

/** @throws Unavailable if the access does not arrive in time, and what `open` throws */
const openInTime = async ({ open, clock }: Refreshing): Promise<Link> => {
  const late = clock.deadline(OPENS_WITHIN_MS);
  try {
    return await abortOnSignal(late, open);
  } catch (error) {
    if (!late.aborted || error instanceof CloudfenceError) throw error;
    const within = `${OPENS_WITHIN_MS / 1_000} s`;
    throw new Unavailable(`the access to the cluster did not arrive within ${within}`, { cause: error });
  }
};

/** The link that was opened last, when it was last read or tried to be read, and whether it may be old. */
const createHolder = (first: Link, refreshing: Refreshing) => {
  const { keptFor } = refreshing;
  const { now } = refreshing.clock;
  let held = { link: first, readAt: now(), isDoubtful: false };
  let renewal: Promise<Link> | null = null;
  const replace = async (): Promise<Link> => {
    const { link: before } = held;
    // Until the access arrives, it is doubtful. If it cannot be read, it stays so.
    held = { ...held, readAt: now(), isDoubtful: true };
    held = { link: await openInTime(refreshing), readAt: now(), isDoubtful: false };
    await before.close();
    return held.link;
  };
  return {
    link: (): Link => held.link,
    isFresh: (): boolean => !held.isDoubtful && now() - held.readAt < FRESH_FOR_MS,
    isDue: (): boolean => now() - held.readAt >= (held.isDoubtful ? RETRIED_AFTER_MS : keptFor),
    /** Requests that need it at the same time share one renewal. */
    renew: (): Promise<Link> => (renewal ??= replace().finally(() => (renewal = null))),
    /** Notes that a request got no answer: the server may have another address or another certificate by now. */
    doubt: (link: Link): void => {
      held = { ...held, isDoubtful: held.isDoubtful || link === held.link };
    },
  };
};

type Holder = ReturnType<typeof createHolder>;

/** Returns the link for the next request. If the access cannot be read now, the old one may still work. */
const currentLink = async ({ link, isDue, renew }: Holder): Promise<Link> => {
  if (!isDue()) return link();
  try {
    return await renew();
  } catch (error) {
    if (error instanceof CloudfenceError) return link();
    throw error;
  }
};

const sendOver = async (
  link: Link,
  { doubt }: Holder,
  ...request: Parameters<Link['send']>
): ReturnType<Link['send']> => {
  try {
    return await link.send(...request);
  } catch (error) {
    // An error of Cloudfence says that the request was not sent, or that its permit ended before the answer.
    if (!(error instanceof CloudfenceError)) doubt(link);
    throw error;
  }
};

const pathPrefixOf = ({ pathname }: URL): string => pathname.replace(/\/$/, '');

/** Changes the server to which a request is sent. */
const readdress = (request: RequestContext, from: Link, to: Link): void => {
  if (from.server === to.server) return;
  const [url, old, other] = [new URL(request.getUrl()), new URL(from.server), new URL(to.server)];
  const path = url.pathname.slice(pathPrefixOf(old).length);
  request.setUrl(`${other.origin}${pathPrefixOf(other)}${path}${url.search}`);
};

/**
 * Creates a link whose server and credentials may change. The link reads them again after `keptFor`, after a request
 * without an answer, and immediately when the API server no longer accepts the credentials. A request that was answered
 * with 401 had no effect. The link may therefore send it again under the same permit, even if it is destructive.
 */
export const refreshingLink = async (refreshing: Refreshing): Promise<Link> => {
  const first = await openInTime(refreshing);
  const holder = createHolder(first, refreshing);
  const { link, isFresh, renew } = holder;
  const authenticated = new WeakMap<RequestContext, Link>();
  const authenticate = async (request: RequestContext, by: Link): Promise<void> => {
    readdress(request, authenticated.get(request) ?? first, by);
    authenticated.set(request, by);
    await by.authentication.applySecurityAuthentication(request);
  };
  return {
    server: first.server,
    unverified: () => link().unverified(),
    authentication: {
      getName: () => 'credentials that may change',
      applySecurityAuthentication: async (request) => authenticate(request, await currentLink(holder)),
    },
    send: async (request, permit) => {
      const by = authenticated.get(request) ?? link();
      const answer = await sendOver(by, holder, request, permit);
      if (answer.httpStatusCode !== UNAUTHORIZED || (by === link() && isFresh())) return answer;
      const renewed = by === link() ? await renew() : link();
      await authenticate(request, renewed);
      return sendOver(renewed, holder, request, permit);
    },
    connect: async (count) => link().connect(count),
    close: async () => link().close(),
  };
};

/** The service account in infra/kubernetes/rbac.yaml, and the Secret with one of its tokens. */
const NAMESPACE = 'kube-system';
const ACCOUNT = 'cloudfence';
const SECRET = 'cloudfence-token';

/** Kubernetes normally fills the Secret within this time. If it does not, the account does not exist. */
const FILLED_WITHIN_MS = 10_000;
const POLL_MS = 200;

export interface AccountToken {
  readonly token: string;
  /** The cluster's certificate authority (PEM). */
  readonly ca: string;
}

const TOKEN_SECRET = { name: SECRET, namespace: NAMESPACE };

const tokenSecret: V1Secret = {
  type: 'kubernetes.io/service-account-token',
  metadata: { name: SECRET, namespace: NAMESPACE, annotations: { 'kubernetes.io/service-account.name': ACCOUNT } },
};

const text = (data: V1Secret['data'], key: string): string => Buffer.from(data?.[key] ?? '', 'base64').toString();

const tokenIn = ({ data }: V1Secret): AccountToken | null => {
  const [token, ca] = [text(data, 'token'), text(data, 'ca.crt')];
  return token === '' || ca === '' ? null : { token, ca };
};

const waitForToken = async ({ clock, reader }: Connection, signal: AbortSignal): Promise<AccountToken> => {
  const until = clock.now() + FILLED_WITHIN_MS;
  do {
    const secret = await reader(signal).readIfPresent(CoreV1Api, TOKEN_SECRET, (core, key) =>
      core.readNamespacedSecret(key),
    );
    const token = secret && tokenIn(secret);
    if (token) return token;
    await clock.sleep(POLL_MS, signal);
  } while (clock.now() < until);
  throw new Unavailable(
    `Kubernetes adds no token to the Secret ${NAMESPACE}/${SECRET}: check that the service account ` +
      `${ACCOUNT} exists, and apply infra/kubernetes/rbac.yaml`,
  );
};

/**
 * Returns a token of Cloudfence's service account. The token is valid until its Secret is deleted. Creates the Secret
 * if it does not exist.
 * https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#manual-secret-management-for-serviceaccounts
 * @throws Unavailable, PermissionDenied, Refused
 */
export const accountToken = async (connection: Connection, signal: AbortSignal): Promise<AccountToken> => {
  const known = await connection
    .reader(signal)
    .readIfPresent(CoreV1Api, TOKEN_SECRET, (core, key) => core.readNamespacedSecret(key));
  if (!known)
    await connection
      .writer(null, signal)
      .write(CoreV1Api, (core) => core.createNamespacedSecret({ namespace: NAMESPACE, body: tokenSecret }));
  return waitForToken(connection, signal);
};
