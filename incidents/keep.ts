import { InvalidInput, Unavailable } from '../fencing/model/errors.ts';
import { type Announcement, announcementsOf } from './announcement.ts';
import { type Incident, objectNameOf, parseIncident } from './incident.ts';
import { joined } from './join.ts';

/** Objects by name, in a bucket or a container. All methods throw `CloudfenceError`s. */
export interface ObjectStore {
  /** Returns an object, or null if there is none of that name. `version` names this content of it. */
  readonly read: (name: string, signal: AbortSignal) => Promise<StoredObject | null>;
  /**
   * Writes an object over exactly that version, or a new one if `over` is null. Returns false if somebody else has
   * written it meanwhile.
   */
  readonly write: (name: string, text: string, over: string | null, signal: AbortSignal) => Promise<boolean>;
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

/**
 * Writes what a run shows into the incident's object. Returns the incident before and after, or null if nothing is new.
 */
const written = async (
  shown: Incident,
  objects: ObjectStore,
  signal: AbortSignal,
): Promise<{ readonly before: Incident | null; readonly after: Incident } | null> => {
  const name = objectNameOf(shown);
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const found = await objects.read(name, signal);
    const before = incidentIn(name, found);
    const after = joined(before, shown);
    if (after === before) return null;
    const text = `${JSON.stringify(after, null, 2)}\n`;
    if (await objects.write(name, text, found?.version ?? null, signal)) return { before, after };
  }
  throw new Unavailable(`${name} was written by others ${MOST_ATTEMPTS} times in a row`);
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
  const news = await written(shown, objects, signal);
  if (!news) return;
  for (const one of announcementsOf(news.before, news.after)) await announce(one, signal);
};
