import { z } from 'zod';
import type { Api } from '../../testbed/api.ts';
import type { AuditEntry } from '../../testbed/audit.ts';
import { authorNamed } from './authors.ts';
import type { Watched } from './facets.ts';
import type { Writing } from './lines.ts';
import { listOf, watchEvent } from '../../testbed/objects.ts';

/** What the watches of the real API server reported, and when it arrived (epoch ms). */
export type WatchedWrite = Omit<Writing, 'by'>;

export interface Watcher {
  readonly seen: () => readonly WatchedWrite[];
  readonly close: () => void;
}

const known = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().default(''),
    uid: z.string(),
    resourceVersion: z.string(),
    deletionTimestamp: z.string().nullish(),
  }),
});
const anything = z.looseObject({});

const PATHS: Readonly<Record<Watched, string>> = {
  nodes: '/api/v1/nodes',
  pods: '/api/v1/pods',
  volumeattachments: '/apis/storage.k8s.io/v1/volumeattachments',
  csinodes: '/apis/storage.k8s.io/v1/csinodes',
};

const seenIn = (kind: Watched, line: unknown): WatchedWrite => {
  const { type, object } = watchEvent.parse(line);
  if (type === 'ERROR') throw new Error(`the watch of ${kind} broke off: ${JSON.stringify(object)}`);
  const { uid, resourceVersion } = known.parse(object).metadata;
  return { at: Date.now(), revision: Number(resourceVersion), kind, uid, object, gone: type === 'DELETED' };
};

/** Everything that changes from now on. */
export const watchAll = async (api: Api, kinds: readonly Watched[]): Promise<Watcher> => {
  const closing = new AbortController();
  const seen: WatchedWrite[] = [];
  let broken: unknown = null;
  const follow = async (kind: Watched, from: string): Promise<void> => {
    for await (const line of api.watch(`${PATHS[kind]}?watch=1&resourceVersion=${from}`, closing.signal))
      seen.push(seenIn(kind, line));
  };
  for (const kind of kinds) {
    const { metadata } = listOf(anything).parse(await api.get(`${PATHS[kind]}?limit=1`));
    follow(kind, metadata.resourceVersion).catch((error: unknown) => void (broken = error));
  }
  return {
    seen: () => {
      if (broken !== null && !closing.signal.aborted) throw new Error('a watch broke off', { cause: broken });
      return [...seen];
    },
    close: () => closing.abort(),
  };
};

/** A watch event may arrive before the answer to the request that caused it. */
const AHEAD_MS = 1_000;

const isAbout = ({ kind, object }: WatchedWrite) => {
  const { metadata } = known.parse(object);
  return (entry: AuditEntry): boolean =>
    entry.resource === kind &&
    entry.namespace === metadata.namespace &&
    entry.name === metadata.name &&
    (entry.uid === '' || entry.uid === metadata.uid);
};

const isDoomed = ({ object }: WatchedWrite): boolean => known.parse(object).metadata.deletionTimestamp != null;

/**
 * Answers contain the revision that they created, except for bindings and for deletions that complete at once. A watch
 * shows such a pod twice: terminating and gone.
 */
const causeOf = (seen: WatchedWrite, entries: readonly AuditEntry[]): AuditEntry | undefined => {
  const own = entries.filter(isAbout(seen)).filter(({ at }) => at <= seen.at + AHEAD_MS);
  if (seen.gone) return own.findLast(({ verb }) => verb !== 'create');
  const unnamed = isDoomed(seen) ? 'delete' : 'create';
  return own.find(({ revision }) => revision === String(seen.revision)) ?? own.findLast(({ verb }) => verb === unnamed);
};

/** Which user made each change, and exactly when. */
export const withAuthors = (seen: readonly WatchedWrite[], entries: readonly AuditEntry[]): readonly Writing[] =>
  seen.map((one) => {
    const cause = causeOf(one, entries);
    return { ...one, at: cause?.at ?? one.at, by: cause ? authorNamed(cause.user) : 'nobody knows' };
  });
