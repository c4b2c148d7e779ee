import pLimit from 'p-limit';
import { z } from 'zod';
import { asCloudfenceError } from '../fencing/model/errors.ts';
import { jsonTextSchema } from '../fencing/model/json-text.ts';
import { type Incident, INCIDENTS, incidentSchema } from './incident.ts';
import { joined } from './join.ts';

/** Reads stored incidents. If an object cannot be read, it is reported, and the others are still read. */

/** Where incidents are stored: the bucket of a stack, or a folder with a copy. All methods throw `CloudfenceError`s. */
export interface IncidentSource {
  /** The place as text, such as `the folder incidents` or `the bucket cloudfence-prod-incidents`. */
  readonly where: string;
  readonly list: (signal: AbortSignal) => Promise<readonly IncidentObject[]>;
  /** Returns the text of an object, or null if it was deleted since it was listed. */
  readonly read: (name: string, signal: AbortSignal) => Promise<string | null>;
}

export interface IncidentObject {
  readonly name: string;
  /** When it was last written (epoch ms), or null if the place does not report it. */
  readonly written: number | null;
}

/** A bucket or a container, opened by the CLI. */
interface Place {
  readonly where: string;
  readonly objects: {
    readonly list: (prefix: string, signal: AbortSignal) => Promise<readonly IncidentObject[]>;
    readonly read: (name: string, signal: AbortSignal) => Promise<{ readonly text: string } | null>;
  };
}

/** Returns the incidents among the objects of a place. */
export const incidentSourceAt = ({ where, objects }: Place): IncidentSource => ({
  where,
  list: (signal) => objects.list(INCIDENTS, signal),
  read: async (name, signal) => (await objects.read(name, signal))?.text ?? null,
});

/** An object that cannot be read, with the problem and the remedy. */
export interface DamagedObject {
  readonly name: string;
  readonly what: string;
  readonly remedy: string;
}

export interface ReadIncidents {
  readonly incidents: readonly Incident[];
  readonly damaged: readonly DamagedObject[];
}

type Fault = Omit<DamagedObject, 'name'>;

const AT_ONCE = 16;
const MOST_ISSUES = 3;

const headSchema = z.object({ kind: z.literal('cloudfence/incident'), version: z.number() });

const COPY_AGAIN = 'copy the object again, or restore an earlier version of it';
const KEEP_APART = 'keep only incidents in this place';

const inWords = ({ issues }: z.ZodError): string =>
  issues
    .slice(0, MOST_ISSUES)
    .map(({ path, message }) => `${path.join('.') || 'the object'}: ${message}`)
    .join('; ');

/** Parses an incident, or returns what is wrong with the text. */
export const readIncident = (text: string): Incident | Fault => {
  if (text.trim() === '') return { what: 'it is empty', remedy: COPY_AGAIN };
  const json = jsonTextSchema.safeParse(text);
  if (!json.success) return { what: 'it is not JSON', remedy: COPY_AGAIN };
  const head = headSchema.safeParse(json.data);
  if (!head.success) return { what: 'it is no incident of Cloudfence', remedy: KEEP_APART };
  const { version } = head.data;
  if (version !== 1)
    return { what: `it has version ${version}, and only version 1 is understood`, remedy: 'use a newer Cloudfence' };
  const read = incidentSchema.safeParse(json.data);
  return read.success ? read.data : { what: inWords(read.error), remedy: COPY_AGAIN };
};

const isFault = <T extends Fault>(read: Incident | T): read is T => 'remedy' in read;

type Found = Incident | DamagedObject | null;

const readOne = async (name: string, { read }: IncidentSource, signal: AbortSignal): Promise<Found> => {
  try {
    const text = await read(name, signal);
    if (text === null) return null;
    const found = readIncident(text);
    return isFault(found) ? { name, ...found } : found;
  } catch (caught) {
    signal.throwIfAborted();
    const { message, retry } = asCloudfenceError(caught);
    return { name, what: message, remedy: retry ? 'try again' : 'check that you may read it' };
  }
};

/** Drops copies: two objects with the same content are the same incident. */
const withoutCopies = (incidents: readonly Incident[]): readonly Incident[] => {
  const byId = new Map<string, Incident>();
  for (const one of incidents) byId.set(one.id, joined(byId.get(one.id) ?? null, one));
  return [...byId.values()];
};

/**
 * Reads these objects, and returns the incidents and the objects that cannot be read.
 *
 * @throws CloudfenceError if the signal aborts
 */
export const readIncidents = async (
  objects: readonly IncidentObject[],
  source: IncidentSource,
  signal: AbortSignal,
): Promise<ReadIncidents> => {
  const limit = pLimit(AT_ONCE);
  const all = await Promise.all(objects.map(({ name }) => limit(() => readOne(name, source, signal))));
  const found = all.filter((one) => one !== null);
  return {
    incidents: withoutCopies(found.flatMap((one) => (isFault(one) ? [] : [one]))),
    damaged: found.filter(isFault),
  };
};
