/** The maximum age of a read (ms). */
const REMEMBERED_MS = 600_000;

/** One object with its recent states; null means that it did not exist. */
export interface Versioned<T> {
  readonly present: T | null;
  readonly past: readonly { readonly until: number; readonly was: T | null }[];
}

export type VersionedStore<T> = Record<string, Versioned<T>>;

/** Adds an object as if it had always existed, so that reads of earlier states include it. */
export const put = <T>(shelf: VersionedStore<T>, id: string, value: T): void => {
  shelf[id] = { present: value, past: [] };
};

export const write = <T>(shelf: VersionedStore<T>, id: string, value: T | null, now: number): void => {
  const known = shelf[id] ?? { present: null, past: [] };
  const remembered = known.past.filter((entry) => entry.until > now - REMEMBERED_MS);
  shelf[id] = { present: value, past: [...remembered, { until: now, was: known.present }] };
};

export const current = <T>(shelf: VersionedStore<T>, id: string): T | undefined => shelf[id]?.present ?? undefined;

/** Returns the object at that time. */
export const asOf = <T>(shelf: VersionedStore<T>, id: string, moment: number): T | undefined => {
  const kept = shelf[id];
  const then = kept?.past.find((entry) => entry.until > moment);
  return (then ? then.was : kept?.present) ?? undefined;
};
