import { encodePart } from '../fencing/model/foreign-text.ts';
import { z } from 'zod';
import { InvalidInput, Unavailable } from '../fencing/model/errors.ts';
import { jsonTextSchema } from '../fencing/model/json-text.ts';
import { type Announcement, announcementsOf } from './announcement.ts';
import { type Incident, parseIncident } from './incident.ts';
import type { IncidentObject } from './source.ts';
import { type Aftermath, isWatched, withAftermath } from './watch.ts';

/** Stores incidents with their messages, and the notes about the work that is left. */

/** Named objects in a bucket or a container. All methods throw `CloudfenceError`s. */
export interface ObjectStore {
  /** Returns all objects whose names begin with the prefix. */
  readonly list: (prefix: string, signal: AbortSignal) => Promise<readonly IncidentObject[]>;
  /** Returns an object, or null if no object has this name. `version` identifies this content. */
  readonly read: (name: string, signal: AbortSignal) => Promise<StoredObject | null>;
  /**
   * Replaces exactly that version of an object, or creates the object if `over` is null. Returns false if the object
   * has been written by someone else in the meantime.
   */
  readonly write: (name: string, text: string, over: string | null, signal: AbortSignal) => Promise<boolean>;
  /** Removes the object if it exists. */
  readonly remove: (name: string, signal: AbortSignal) => Promise<void>;
}

export interface StoredObject {
  readonly text: string;
  readonly version: string;
}

/** Where incidents are stored, and to which topics messages about them are sent. */
export interface IncidentKeeper {
  readonly objects: ObjectStore;
  /**
   * Sends a message to each topic of the user. Null if only a later sweep can send messages. @throws CloudfenceError
   */
  readonly announce: ((announcement: Announcement, signal: AbortSignal) => Promise<void>) | null;
}

/** A store that can also send messages itself. */
export interface TellingKeeper extends IncidentKeeper {
  readonly announce: NonNullable<IncidentKeeper['announce']>;
}

/** The maximum number of tries. Concurrent runs rarely write the same object, and each merges what the other wrote. */
const MOST_ATTEMPTS = 4;

const incidentIn = (name: string, found: StoredObject | null): Incident | null => {
  if (found === null) return null;
  const before = parseIncident(found.text);
  if (before) return before;
  throw new InvalidInput(`${name} is not an incident that this version can read, so it is left unchanged`);
};

interface Change {
  readonly before: Incident | null;
  readonly after: Incident;
}

interface Wanted {
  readonly name: string;
  readonly change: (before: Incident | null) => Incident | null;
  /** Runs before each write. */
  readonly first: (change: Change) => Promise<void>;
  /** The content of the object that the caller has just read. If it is absent, the object is read. */
  readonly found?: StoredObject;
}

/** Changes the incident in an object. Returns the incident before and after the change, or null if nothing is new. */
export const changeIncident = async (
  { name, change, first, ...known }: Wanted,
  objects: ObjectStore,
  signal: AbortSignal,
): Promise<Change | null> => {
  let { found } = known;
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const stored: StoredObject | null = found ?? (await objects.read(name, signal));
    found = undefined;
    const before = incidentIn(name, stored);
    const after = change(before);
    if (after === null || after === before) return null;
    await first({ before, after });
    const text = `${JSON.stringify(after, null, 2)}\n`;
    if (await objects.write(name, text, stored?.version ?? null, signal)) return { before, after };
  }
  throw new Unavailable(`${name} was written by others ${MOST_ATTEMPTS} times in a row`);
};

/**
 * Notes are stored next to the incidents. They describe remaining work: messages to send, and incidents to watch. If a
 * process dies, a later sweep finds its remaining work in the notes.
 */
const NOTES = 'notes/';
const UNSENT = `${NOTES}unsent/`;
const WATCHED = `${NOTES}watch/`;
/** A note for each machine that was powered off and whose fence has not begun (see keep.ts). */
export const POWERED_OFF = `${NOTES}powered-off/`;

const unsentNote = ({ id }: Announcement): string => `${UNSENT}${encodePart(id)}`;

/** `since` and `next` are epoch ms. */
const unsentSchema = jsonTextSchema.pipe(
  z.object({
    object: z.string(),
    since: z.number().optional(),
    tries: z.number().default(0),
    next: z.number().default(0),
  }),
);

/** Stores a note about each message before the incident is written. Returns the notes that did not exist before. */
const noteUnsent = async (
  { before, after }: Change,
  objects: ObjectStore,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const made: string[] = [];
  for (const one of announcementsOf(before, after)) {
    const text = `${JSON.stringify({ object: one.object })}\n`;
    if (await objects.write(unsentNote(one), text, null, signal)) made.push(unsentNote(one));
  }
  return made;
};

const watchNote = (name: string): string => `${WATCHED}${name}`;

/**
 * Changes an incident in its object, and announces what is new. The write decides which run sends a message: if several
 * runs have the same result, only one of them completes the object. Notes are written before it, so that a sweep can
 * finish what a process left undone.
 *
 * @throws CloudfenceError
 */
export const storeIncident = async (
  wanted: Pick<Wanted, 'name' | 'change' | 'found'>,
  { objects, announce }: IncidentKeeper,
  signal: AbortSignal,
): Promise<Change | null> => {
  const made = new Set<string>();
  const first = async (change: Change): Promise<void> => {
    for (const note of await noteUnsent(change, objects, signal)) made.add(note);
    if (isWatched(change.after) && !(change.before && isWatched(change.before)))
      await objects.write(watchNote(wanted.name), '{}\n', null, signal);
  };
  const news = await changeIncident({ ...wanted, first }, objects, signal);
  const unsent = news ? announcementsOf(news.before, news.after) : [];
  // Another run has written these ends in the meantime, and sends their messages.
  for (const note of made.difference(new Set(unsent.map(unsentNote)))) await objects.remove(note, signal);
  for (const one of announce === null ? [] : unsent) {
    await announce?.(one, signal);
    await objects.remove(unsentNote(one), signal);
  }
  return news;
};

/** The remaining work. */
interface Notes {
  /** The incidents to watch, by name, and when each note was written. */
  readonly watched: readonly IncidentObject[];
  /** The notes about messages that their run should have sent by now. */
  readonly unsent: readonly IncidentObject[];
  /** The notes of machines that were powered off, and whose fence has not begun. */
  readonly poweredOff: readonly IncidentObject[];
}

/** The time (ms) in which a run sends its own messages. */
const SENDS_ITSELF_MS = 120_000;

const startingWith = (prefix: string, notes: readonly IncidentObject[]): readonly IncidentObject[] =>
  notes.filter(({ name }) => name.startsWith(prefix));

/** @throws CloudfenceError */
export const readNotes = async ({ list }: ObjectStore, now: number, signal: AbortSignal): Promise<Notes> => {
  const notes = await list(NOTES, signal);
  return {
    watched: startingWith(WATCHED, notes).map(({ name, written }) => ({ name: name.slice(WATCHED.length), written })),
    unsent: startingWith(UNSENT, notes).filter(({ written }) => now - (written ?? 0) >= SENDS_ITSELF_MS),
    poweredOff: startingWith(POWERED_OFF, notes),
  };
};

/** After this time (ms), a message that could not be sent is dropped. */
const GIVEN_UP_MS = 86_400_000;
/**
 * The pause (ms) after the first failure. Each further pause is twice as long, because if one of two topics fails, the
 * other one receives the message with each try.
 */
const FIRST_PAUSE_MS = 240_000;

type UnsentNote = z.infer<typeof unsentSchema>;

/** Records a failed try in the note. */
const postpone = async (
  name: string,
  { object, tries }: UnsentNote,
  { version }: StoredObject,
  { objects, since, now, signal }: { objects: ObjectStore; since: number; now: number; signal: AbortSignal },
): Promise<void> => {
  const text = `${JSON.stringify({ object, since, tries: tries + 1, next: now + FIRST_PAUSE_MS * 2 ** tries })}\n`;
  await objects.write(name, text, version, signal);
};

/**
 * Sends a message that a run did not send. If the message has already arrived, both have the same id. Drops the message
 * after a day, whatever the reason of the failures.
 *
 * @throws CloudfenceError
 */
export const sendLate = async (
  { name, written }: IncidentObject,
  { objects, announce }: IncidentKeeper,
  now: number,
  signal: AbortSignal,
): Promise<void> => {
  const stored = await objects.read(name, signal);
  const note = unsentSchema.safeParse(stored?.text ?? '').data;
  const since = note?.since ?? written ?? now;
  if (!stored || !note || now - since >= GIVEN_UP_MS) return objects.remove(name, signal);
  if (now < note.next) return;
  const found = await objects.read(note.object, signal);
  const incident = found && parseIncident(found.text);
  const message = incident && announcementsOf(null, incident).find((one) => unsentNote(one) === name);
  const again = { objects, since, now, signal };
  // If the incident does not contain the end, the run died before its write. Another run may still write it.
  if (!message) return postpone(name, note, stored, again);
  try {
    if (announce) await announce(message, signal);
  } catch (error) {
    await postpone(name, note, stored, again);
    throw error;
  }
  await objects.remove(name, signal);
};

/** Looks at the cluster of an incident. Returns null if that cluster cannot be asked. */
export type LookAfter = (incident: Incident) => Promise<Aftermath | null>;

/**
 * Looks once at the cluster of a watched incident, stores what is new, and announces an end that only this look can
 * see. Removes the note after the watch has ended.
 *
 * @throws CloudfenceError
 */
export const watchIncident = async (
  { name, written }: IncidentObject,
  lookAfter: LookAfter,
  now: () => number,
  keeper: IncidentKeeper,
  signal: AbortSignal,
): Promise<void> => {
  const { objects } = keeper;
  const found = await objects.read(name, signal);
  // The run that wrote the note may be about to write the incident.
  if (!found && now() - (written ?? 0) < SENDS_ITSELF_MS) return;
  const before = found && parseIncident(found.text);
  const forget = () => objects.remove(watchNote(name), signal);
  if (!found || !before || !isWatched(before)) return forget();
  const seen = await lookAfter(before);
  const at = now();
  const change = (one: Incident | null) => one && withAftermath(one, seen, at);
  const news = await storeIncident({ name, change, found }, keeper, signal);
  if (news && !isWatched(news.after)) await forget();
};
