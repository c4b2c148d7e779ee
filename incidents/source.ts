import pLimit from 'p-limit';
import { z } from 'zod';
import { asCloudfenceError } from '../fencing/model/errors.ts';
import { jsonTextSchema } from '../fencing/model/json-text.ts';
import { type Incident, INCIDENTS, incidentSchema } from './incident.ts';
import { joined } from './join.ts';

/** Reads back what is kept of incidents. One object that cannot be read is named, and hides no other. */

/** Where incidents lie: the bucket of a stack, or a folder with a copy of it. All methods throw `CloudfenceError`s. */
export interface IncidentSource {
  /** The place in words, such as `the folder incidents` or `the bucket cloudfence-prod-incidents`. */
  readonly where: string;
  readonly list: (signal: AbortSignal) => Promise<readonly IncidentObject[]>;
  /** Returns the text of an object, or null if it has gone since it was listed. */
  readonly read: (name: string, signal: AbortSignal) => Promise<string | null>;
}

export interface IncidentObject {
  readonly name: string;
  /** When it was last written (epoch ms), or null if the place does not say. */
  readonly written: number | null;
}

/** A bucket or a container, as the CLI opens it. */
interface Place {
  readonly where: string;
  readonly objects: {
    readonly list: (prefix: string, signal: AbortSignal) => Promise<readonly IncidentObject[]>;
    readonly read: (name: string, signal: AbortSignal) => Promise<{ readonly text: string } | null>;
  };
}

/** Returns the incidents among the objects of a place. */
export const sourceIn = ({ where, objects }: Place): IncidentSource => ({
  where,
  list: (signal) => objects.list(INCIDENTS, signal),
  read: async (name, signal) => (await objects.read(name, signal))?.text ?? null,
});

/** An object that cannot be read: what is wrong with it, and the remedy. */
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

/** Returns the incident in a text, or what is wrong with the text. */
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

/** A copy of an object beside it is the same incident. */
const withoutCopies = (incidents: readonly Incident[]): readonly Incident[] => {
  const byId = new Map<string, Incident>();
  for (const one of incidents) byId.set(one.id, joined(byId.get(one.id) ?? null, one));
  return [...byId.values()];
};

/**
 * Returns the incidents in those objects, and the objects that cannot be read.
 *
 * @throws CloudfenceError if the signal ends
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
