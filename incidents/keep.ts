import { InvalidInput, Unavailable } from '../fencing/model/errors.ts';
import { type Announcement, announcementsOf } from './announcement.ts';
import { type Incident, objectNameOf, parseIncident } from './incident.ts';
import { joined } from './join.ts';
import type { IncidentObject } from './source.ts';
import { type Aftermath, isWatched, withAftermath } from './watch.ts';

/** Objects by name, in a bucket or a container. All methods throw `CloudfenceError`s. */
export interface ObjectStore {
  /** Returns all objects whose names begin with a prefix. */
  readonly list: (prefix: string, signal: AbortSignal) => Promise<readonly IncidentObject[]>;
  /** Returns an object, or null if there is none of that name. `version` names this content of it. */
  readonly read: (name: string, signal: AbortSignal) => Promise<StoredObject | null>;
  /**
   * Writes an object over exactly that version, or a new one if `over` is null. Returns false if somebody else has
   * written it meanwhile.
   */
  readonly write: (name: string, text: string, over: string | null, signal: AbortSignal) => Promise<boolean>;
  /** Removes an object, if there is one of that name. */
  readonly remove: (name: string, signal: AbortSignal) => Promise<void>;
}

export interface StoredObject {
  readonly text: string;
  readonly version: string;
}

/** Where incidents are kept, and to whom they are told. */
export interface IncidentKeeper {
  readonly objects: ObjectStore;
  /** Tells each of the user's topics. @throws CloudfenceError */
  readonly announce: (announcement: Announcement, signal: AbortSignal) => Promise<void>;
}

/** Runs side by side write the same object rarely, and each joins what the other wrote. */
const MOST_ATTEMPTS = 4;

const incidentIn = (name: string, found: StoredObject | null): Incident | null => {
  if (found === null) return null;
  const before = parseIncident(found.text);
  if (before) return before;
  throw new InvalidInput(`${name} is no incident that this version can read, so it stays as it is`);
};

interface Change {
  readonly before: Incident | null;
  readonly after: Incident;
}

/** Changes the incident in an object. Returns it before and after, or null if nothing is new. */
const changed = async (
  name: string,
  change: (before: Incident | null) => Incident | null,
  objects: ObjectStore,
  signal: AbortSignal,
): Promise<Change | null> => {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const found = await objects.read(name, signal);
    const before = incidentIn(name, found);
    const after = change(before);
    if (after === null || after === before) return null;
    const text = `${JSON.stringify(after, null, 2)}\n`;
    if (await objects.write(name, text, found?.version ?? null, signal)) return { before, after };
  }
  throw new Unavailable(`${name} was written by others ${MOST_ATTEMPTS} times in a row`);
};

/** The names of the notes that later looks shall watch an incident begin with it. The rest is the incident's name. */
const WATCHED = 'watch/';

const watchNote = async (incident: Incident, objects: ObjectStore, signal: AbortSignal): Promise<void> => {
  await objects.write(`${WATCHED}${objectNameOf(incident)}`, '{}\n', null, signal);
};

/**
 * Keeps what a run shows, and announces what is new. The write decides which run announces: of several runs with the
 * same result, one completes the object.
 *
 * @throws CloudfenceError
 */
export const keepIncident = async (
  shown: Incident,
  { objects, announce }: IncidentKeeper,
  signal: AbortSignal,
): Promise<void> => {
  const news = await changed(objectNameOf(shown), (before) => joined(before, shown), objects, signal);
  if (!news) return;
  const { before, after } = news;
  for (const one of announcementsOf(before, after)) await announce(one, signal);
  if (isWatched(after) && !(before && isWatched(before))) await watchNote(after, objects, signal);
};

/** Returns the names of the incidents to watch. @throws CloudfenceError */
export const listWatched = async ({ list }: ObjectStore, signal: AbortSignal): Promise<readonly string[]> =>
  (await list(WATCHED, signal)).map(({ name }) => name.slice(WATCHED.length));

/** Looks at the cluster of an incident. Returns null if that cluster cannot be asked. */
export type LookAfter = (incident: Incident) => Promise<Aftermath | null>;

/**
 * Looks once at what has become of a watched incident, and keeps what is new. Removes the note once the watch has ended.
 *
 * @throws CloudfenceError
 */
export const watchIncident = async (
  name: string,
  lookAfter: LookAfter,
  now: () => number,
  objects: ObjectStore,
  signal: AbortSignal,
): Promise<void> => {
  const found = await objects.read(name, signal);
  const before = found && parseIncident(found.text);
  const forget = () => objects.remove(`${WATCHED}${name}`, signal);
  if (!before || !isWatched(before)) return forget();
  const seen = await lookAfter(before);
  const at = now();
  const news = await changed(name, (one) => one && withAftermath(one, seen, at), objects, signal);
  if (news && !isWatched(news.after)) await forget();
};
