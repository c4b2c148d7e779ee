import { Agent as ClearAgent } from 'node:http';
import { Agent, type RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { type SecurityAuthentication, type V1Secret, CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import { HttpProxyAgent, HttpsProxyAgent } from 'hpagent';
import { InvalidConfiguration, Unavailable } from '../fencing/model/errors.ts';
import { bearerAuthentication, httpsLink, type Link, POOL_OPTIONS, closeWhenIdle } from './exchange.ts';
import {
  chosenKubeConfig,
  type KubeConfigText,
  execPluginUserOf,
  redactedKubeconfigError,
  refuseSendingInClear,
} from './kubeconfig.ts';
import type { Connection } from './connection.ts';

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

/** Credentials from a secret, and how long to keep them. */
interface Refreshing {
  readonly open: () => Promise<Link>;
  /** Wall clock, epoch ms. */
  readonly now: () => number;
  /** How long to use the credentials before the secret is read again, in ms. */
  readonly keptFor: number;
}

const UNAUTHORIZED = 401;
/**
 * After a 401, the secret is not read again if it was read less than this time ago. In that case the secret itself is
 * wrong, and the caller gets the 401.
 */
const FRESH_FOR_MS = 5_000;

/**
 * Creates a link whose credentials come from a secret. The link reads the secret again after `keptFor`, and immediately
 * when the API server no longer accepts the credentials. A request that was answered with 401 had no effect. The link
 * may therefore send it again under the same permit, even if it is destructive.
 */
export const refreshingLink = async ({ open, now, keptFor }: Refreshing): Promise<Link> => {
  let held = { link: await open(), since: now() };
  const renew = async (): Promise<Link> => {
    const before = held.link;
    held = { link: await open(), since: now() };
    await before.close();
    return held.link;
  };
  const current = async (): Promise<Link> => (now() - held.since >= keptFor ? renew() : held.link);
  return {
    server: held.link.server,
    unverified: () => held.link.unverified(),
    authentication: {
      getName: () => 'credentials from a secret',
      applySecurityAuthentication: async (request) =>
        (await current()).authentication.applySecurityAuthentication(request),
    },
    send: async (request, permit) => {
      const answer = await held.link.send(request, permit);
      if (answer.httpStatusCode !== UNAUTHORIZED || now() - held.since < FRESH_FOR_MS) return answer;
      const renewed = await renew();
      await renewed.authentication.applySecurityAuthentication(request);
      return renewed.send(request, permit);
    },
    connect: async (count) => held.link.connect(count),
    close: async () => held.link.close(),
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
