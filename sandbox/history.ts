/** How far back a read may reach (ms). */
const REMEMBERED_MS = 600_000;

/** One object and what it was a short while ago; null means that it did not exist. */
export interface Versioned<T> {
  readonly present: T | null;
  readonly past: readonly { readonly until: number; readonly was: T | null }[];
}

export type VersionedStore<T> = Record<string, Versioned<T>>;

/** Puts an object there as though it had always been so: no read of the past misses it. */
export const put = <T>(shelf: VersionedStore<T>, id: string, value: T): void => {
  shelf[id] = { present: value, past: [] };
};

export const write = <T>(shelf: VersionedStore<T>, id: string, value: T | null, now: number): void => {
  const known = shelf[id] ?? { present: null, past: [] };
  const remembered = known.past.filter((entry) => entry.until > now - REMEMBERED_MS);
  shelf[id] = { present: value, past: [...remembered, { until: now, was: known.present }] };
};

export const current = <T>(shelf: VersionedStore<T>, id: string): T | undefined => shelf[id]?.present ?? undefined;

/** The object as it stood at that moment. */
export const asOf = <T>(shelf: VersionedStore<T>, id: string, moment: number): T | undefined => {
  const kept = shelf[id];
  const then = kept?.past.find((entry) => entry.until > moment);
  return (then ? then.was : kept?.present) ?? undefined;
};
