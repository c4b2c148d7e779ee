import type { Resource, Resources } from '../objects.ts';
import { keyOf } from '../store.ts';
import { refusalFor, userOf } from './authority.ts';
import { parseApiPath, type Call } from './call.ts';
import { selectedItems } from './read.ts';
import { apiVersionOf } from './kinds.ts';
import { metadataOnly, wantsMetadataOnly } from './partial.ts';
import type { ApiServer } from './server.ts';
import { tableOf, wantsTable } from './table.ts';
import type { ApiRequest } from './wire.ts';

/**
 * The changes since a list, which `kubectl get --watch`, `delete`, `wait`, and `rollout status` follow:
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 *
 * The store has no history, so a watch compares states. It does not see objects that were deleted before it began.
 */
export interface Watch {
  /** How long the client wants to watch (ms). */
  readonly lasts: number;
  /** Returns the events since the last call, each as a line of JSON. */
  readonly next: () => readonly string[];
}

type Item = Resources[Resource];
type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';

const WATCH_LASTS_S = 300;

const shown = ({ server, kind, request }: Call, item: Item): object => {
  const { resourceVersion } = item.metadata;
  const table = wantsTable(request) ? tableOf(kind.resource, [item], { resourceVersion }, server.now()) : undefined;
  return table ?? (wantsMetadataOnly(request) ? metadataOnly(item) : item);
};

const line = (type: EventType, object: object): string => `${JSON.stringify({ type, object })}\n`;

/** Tells a client that requested the initial objects that it has received all of them. */
const endOfInitial = ({ server, kind }: Call): string =>
  line('BOOKMARK', {
    kind: kind.kind,
    apiVersion: apiVersionOf(kind),
    metadata: {
      resourceVersion: String(server.store.state.revision),
      annotations: { 'k8s.io/initial-events-end': 'true' },
    },
  });

const keyed = (call: Call): ReadonlyMap<string, Item> => {
  const items = selectedItems(call);
  return new Map(typeof items === 'string' ? [] : items.map((item) => [keyOf(item.metadata), item]));
};

/** The objects that the client already knows when the watch begins: those that are not newer than its list. */
const knownAtFirst = (call: Call): ReadonlyMap<string, Item> => {
  const listed = call.query.has('sendInitialEvents') ? 0 : Number(call.query.get('resourceVersion') ?? 0);
  return new Map([...keyed(call)].filter(([, { metadata }]) => Number(metadata.resourceVersion) <= listed));
};

const changes = (
  call: Call,
  before: ReadonlyMap<string, Item>,
  after: ReadonlyMap<string, Item>,
): readonly string[] => {
  const gone = [...before].filter(([key, item]) => after.get(key)?.metadata.uid !== item.metadata.uid);
  const now = [...after].flatMap(([key, item]) => {
    const known = before.get(key);
    if (known?.metadata.uid !== item.metadata.uid) return [line('ADDED', shown(call, item))];
    return known.metadata.resourceVersion === item.metadata.resourceVersion
      ? []
      : [line('MODIFIED', shown(call, item))];
  });
  return [...gone.map(([, item]) => line('DELETED', shown(call, item))), ...now];
};

const watchFor = (call: Call): Watch => {
  let known = knownAtFirst(call);
  let owed = call.query.get('sendInitialEvents') === 'true' ? [endOfInitial(call)] : [];
  const next = (): readonly string[] => {
    const present = keyed(call);
    const lines = [...changes(call, known, present), ...owed];
    known = present;
    owed = [];
    return lines;
  };
  return { next, lasts: Number(call.query.get('timeoutSeconds') ?? WATCH_LASTS_S) * 1_000 };
};

/** Opens the watch that the request asks for. Returns undefined for any other request, and for a refused one. */
export const openWatch = (server: ApiServer, request: ApiRequest): Watch | undefined => {
  const [path = '', search = ''] = request.path.split('?', 2);
  const query = new URLSearchParams(search);
  if (request.method !== 'GET' || !['1', 'true'].includes(query.get('watch') ?? '')) return undefined;
  const apiPath = parseApiPath(path);
  const user = userOf(server, request);
  if (!apiPath || !user || apiPath.name !== '' || refusalFor(user, 'GET', apiPath)) return undefined;
  return watchFor({ ...apiPath, server, user, request, query });
};
