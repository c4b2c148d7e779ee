import type { Announcement } from '../../incidents/announcement.ts';
import { type Incident, parseIncident } from '../../incidents/incident.ts';
import type { IncidentKeeper, StoredObject } from '../../incidents/store.ts';

/** A bucket and a topic in this process. It checks the conditions of a write, as the clouds do. */
export interface MemoryKeeper {
  readonly keeper: IncidentKeeper;
  readonly incidents: () => readonly Incident[];
  /** The names of the notes about messages that are not sent yet. */
  readonly unsent: () => readonly string[];
  readonly announced: Announcement[];
  /** The names of all objects. */
  readonly names: () => readonly string[];
  /** How often an incident was written. */
  readonly writes: () => number;
  /** What happens before each call, such as a fault. */
  readonly trouble: { before: (signal: AbortSignal) => Promise<void> };
}

export const memoryKeeper = (): MemoryKeeper => {
  const objects = new Map<string, StoredObject>();
  const announced: Announcement[] = [];
  const trouble: MemoryKeeper['trouble'] = { before: async () => undefined };
  let writes = 0;
  let versions = 0;
  return {
    announced,
    trouble,
    writes: () => writes,
    unsent: () => [...objects.keys()].filter((name) => name.startsWith('notes/unsent/')),
    names: () => [...objects.keys()],
    incidents: () =>
      [...objects].flatMap(([name, { text }]) => (name.startsWith('incidents/') ? (parseIncident(text) ?? []) : [])),
    keeper: {
      objects: {
        read: async (name, signal) => {
          await trouble.before(signal);
          return objects.get(name) ?? null;
        },
        write: async (name, text, over, signal) => {
          await trouble.before(signal);
          if ((objects.get(name)?.version ?? null) !== over) return false;
          objects.set(name, { text, version: `${(versions += 1)}` });
          if (name.startsWith('incidents/')) writes += 1;
          return true;
        },
        remove: async (name, signal) => {
          await trouble.before(signal);
          objects.delete(name);
        },
        list: async (prefix, signal) => {
          await trouble.before(signal);
          return [...objects.keys()].filter((name) => name.startsWith(prefix)).map((name) => ({ name, written: null }));
        },
      },
      announce: async (announcement) => void announced.push(announcement),
    },
  };
};
