import type { Resource, Resources } from '../objects.ts';
import { keyOf } from '../store.ts';
import type { Call } from './call.ts';
import { fieldTest } from './field-selector.ts';
import { apiVersionOf } from './kinds.ts';
import { labelTest } from './label-selector.ts';
import { metadataOnly, wantsMetadataOnly } from './partial.ts';
import { tableOf, wantsTable } from './table.ts';
import { badRequest, listExpired, notFound } from './status.ts';
import type { ApiResponse } from './wire.ts';
import { json } from './wire.ts';

/** Where a list continues: after this key, in the snapshot of this time. */
interface Bookmark {
  readonly after: string;
  readonly begun: number;
  readonly revision: string;
}

type Item = Resources[Resource];

const tokenOf = ({ after, begun, revision }: Bookmark): string =>
  Buffer.from([String(begun), revision, after].join(' ')).toString('base64url');

const bookmarkOf = (token: string): Bookmark | undefined => {
  const [, begun, revision = '', after = ''] =
    /^(\d+) (\d+) (.+)$/.exec(Buffer.from(token, 'base64url').toString()) ?? [];
  return begun === undefined ? undefined : { after, begun: Number(begun), revision };
};

/** Returns the items in the order of their keys, or a description of an invalid selector. */
export const selectedItems = ({ server, kind, namespace, query }: Call): readonly Item[] | string => {
  const byLabel = labelTest(query.get('labelSelector') ?? '');
  if (!byLabel) return 'unable to parse requirement: found an operator or a value where none belongs';
  const byField = fieldTest(kind.resource, query.get('fieldSelector') ?? '');
  if (typeof byField === 'string') return byField;
  const items: readonly Item[] = server.store.list(kind.resource);
  return items
    .filter(({ metadata }) => namespace === '' || metadata.namespace === namespace)
    .filter((item) => byLabel(item.metadata.labels ?? {}) && byField(item))
    .sort((one, other) => (keyOf(one.metadata) < keyOf(other.metadata) ? -1 : 1));
};

/** For a list from the watch cache (`resourceVersion=0`), the server returns all items and ignores the limit. */
const limitOf = (query: URLSearchParams): number => {
  const limit = Number(query.get('limit') ?? 0);
  return query.get('resourceVersion') === '0' || limit <= 0 ? Infinity : limit;
};

const hasSelector = (query: URLSearchParams): boolean =>
  (query.get('labelSelector') ?? '') !== '' || (query.get('fieldSelector') ?? '') !== '';

/** An empty list of metadata has null items, unlike the other lists of the API server. */
const metadataOf = (items: readonly Item[]): readonly object[] | null =>
  items.length === 0 ? null : items.map(metadataOnly);

const bodyOf = (call: Call, items: readonly Item[], metadata: object): object => {
  const { server, kind, request } = call;
  const table = wantsTable(request) ? tableOf(kind.resource, items, metadata, server.now()) : undefined;
  if (table) return table;
  if (wantsMetadataOnly(request)) {
    return { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata, items: metadataOf(items) };
  }
  const bare = items.map(({ kind: _kind, apiVersion: _apiVersion, ...rest }) => rest);
  return { kind: `${call.kind.kind}List`, apiVersion: apiVersionOf(call.kind), metadata, items: bare };
};

const pageOf = (call: Call, items: readonly Item[], from: Bookmark): ApiResponse => {
  const left = items.filter(({ metadata }) => keyOf(metadata) > from.after);
  const page = left.slice(0, limitOf(call.query));
  const last = page.at(-1);
  const remaining = left.length - page.length;
  const more = remaining > 0 && last !== undefined;
  return json(
    200,
    bodyOf(call, page, {
      resourceVersion: from.revision,
      ...(more && { continue: tokenOf({ ...from, after: keyOf(last.metadata) }) }),
      ...(more && !hasSelector(call.query) && { remainingItemCount: remaining }),
    }),
  );
};

/**
 * A list in pages. Later pages show the present state: unlike etcd, the sandbox does not store the past.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
export const listAll = (call: Call): ApiResponse => {
  const { server, query } = call;
  const items = selectedItems(call);
  if (typeof items === 'string') return badRequest(items);
  const token = query.get('continue') ?? '';
  if (token === '')
    return pageOf(call, items, { after: '', begun: server.now(), revision: String(server.store.state.revision) });
  const bookmark = bookmarkOf(token);
  if (!bookmark) return badRequest('continue key is not valid: it was not issued by this server');
  return server.now() - bookmark.begun > server.continueLasts ? listExpired() : pageOf(call, items, bookmark);
};

/** Returns one object. */
export const readOne = ({ server, kind, name, namespace, request }: Call): ApiResponse => {
  const object = server.store.get(kind.resource, name, namespace);
  if (!object) return notFound(kind, name);
  const { resourceVersion } = object.metadata;
  const table = wantsTable(request) ? tableOf(kind.resource, [object], { resourceVersion }, server.now()) : undefined;
  return json(200, table ?? (wantsMetadataOnly(request) ? metadataOnly(object) : object));
};
