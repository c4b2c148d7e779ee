import type { Resource, Resources } from '../objects.ts';
import type { Store } from '../store.ts';
import type { ApiAnswer, ApiRequest, ApiResponse } from './wire.ts';

/** One rule of a Role or ClusterRole: https://kubernetes.io/docs/reference/access-authn-authz/rbac/ */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  /** Plurals, sub-resources included, such as `pods/status`. */
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
  /** Set for the rules of a Role, which apply only in these namespaces. */
  readonly namespaces?: readonly string[];
}

export interface ApiUser {
  readonly name: string;
  /** `all` means a cluster administrator. Without a rule, the user can only read its own permissions. */
  readonly rules: 'all' | readonly PolicyRule[];
}

/** Faults that a test injects: `before` answers instead of the server, `after` replaces the answer after the effect. */
export interface Faults {
  readonly before?: (request: ApiRequest) => ApiAnswer | undefined;
  readonly after?: (request: ApiRequest, response: ApiResponse) => ApiAnswer | undefined;
}

export interface ApiServer {
  readonly store: Store;
  /** The virtual time (epoch ms). */
  readonly now: () => number;
  /** Users by bearer token. */
  readonly users: Readonly<Record<string, ApiUser>>;
  /** The git version that `/version` returns, such as `v1.36.3`. */
  readonly version: string;
  /** How long a `continue` token lasts, in ms; etcd compacts every five minutes. */
  readonly continueLasts: number;
  readonly faults: Faults;
  /** Called after each accepted write, with the resulting object. */
  readonly onWrite: <R extends Resource>(resource: R, object: Resources[R]) => void;
}

export const ADMIN_TOKEN = 'admin-token';

type Settings = Pick<ApiServer, 'store' | 'now'> & Partial<ApiServer>;

export const apiServerOf = (settings: Settings): ApiServer => ({
  users: { [ADMIN_TOKEN]: { name: 'kubernetes-admin', rules: 'all' } },
  version: 'v1.36.3',
  continueLasts: 300_000,
  faults: {},
  onWrite: () => undefined,
  ...settings,
});
