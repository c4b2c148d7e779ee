import { CoreV1Api, type V1Secret } from '@kubernetes/client-node/dist/gen/index.js';
import { Unavailable } from '../fencing/model/errors.ts';
import type { Connection } from './connection.ts';

/** The token of Cloudfence's service account, which `cloudfence kubeconfig` writes into a kubeconfig. */

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
