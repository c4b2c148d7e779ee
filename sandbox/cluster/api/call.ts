import type { ApiServer, ApiUser } from './server.ts';
import type { ServedKind } from './kinds.ts';
import { apiVersionOf, kinds } from './kinds.ts';
import type { ApiRequest } from './wire.ts';

/** The place in the API that a path names. `name` is empty for a collection, `namespace` for all namespaces. */
export interface ApiPath {
  readonly kind: ServedKind;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

/** One authenticated request for a known path. */
export interface Call extends ApiPath {
  readonly server: ApiServer;
  readonly user: ApiUser;
  readonly request: ApiRequest;
  readonly query: URLSearchParams;
}

const rootOf = (kind: ServedKind): string => (kind.group === '' ? '/api/v1/' : `/apis/${apiVersionOf(kind)}/`);

const kindAt = (path: string, resource: string | undefined): ServedKind | undefined =>
  Object.values(kinds).find((kind) => kind.resource === resource && path.startsWith(rootOf(kind)));

const restOf = (path: string): readonly string[] =>
  path
    .replace(/^\/api\/v1\/|^\/apis\/[^/]+\/[^/]+\//, '')
    .split('/')
    .map(decodeURIComponent);

const isServed = (kind: ServedKind, subresource: string): boolean =>
  (subresource === 'status' && kind.status) || (subresource === 'eviction' && kind.kind === 'Pod');

/** Reads a path such as `/apis/apps/v1/namespaces/web/deployments/shop`; undefined when nothing is served there. */
export const parseApiPath = (path: string): ApiPath | undefined => {
  const rest = restOf(path);
  const scoped = rest[0] === 'namespaces' && rest.length > 2;
  const [resource, name = '', subresource = '', ...tooMuch] = scoped ? rest.slice(2) : rest;
  const kind = kindAt(path, resource);
  if (!kind || tooMuch.length > 0 || (scoped && !kind.namespaced)) return undefined;
  if (kind.namespaced && !scoped && name !== '') return undefined;
  if (subresource !== '' && !isServed(kind, subresource)) return undefined;
  return { kind, namespace: scoped ? (rest[1] ?? '') : '', name, subresource };
};
