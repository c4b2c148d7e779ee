import { timing, type Policy } from './policy.ts';

/** The content of the ledger, and how much of the cap it uses. */

/**
 * The latest fence of one machine. Each machine counts only once while the ledger has its entry, even if it is fenced
 * several times.
 */
export interface LedgerEntry {
  /** Short names for the machine and for the boot that is fenced. */
  readonly machine: string;
  readonly boot: string;
  /** Epoch ms. Infinity if the entry cannot be read. */
  readonly begun: number;
  readonly finished: boolean;
  /** The number of Nodes in the cluster at that time. */
  readonly nodes: number;
}

/** Finished fences without entries that began within the same minute. */
export interface CountedFences {
  /** When the last of them began (epoch ms). Infinity if that cannot be read. */
  readonly begun: number;
  readonly count: number;
  /** The smallest number of Nodes in the cluster when one of them began. So the cap never admits too many fences. */
  readonly nodes: number;
  /** Short names of these fences, for those that have one (`foldedName`). There may be fewer names than `count`. */
  readonly names: readonly string[];
}

export interface LedgerState {
  readonly entries: readonly LedgerEntry[];
  readonly counted: readonly CountedFences[];
}

interface Limits {
  readonly begun: number;
  readonly unfinished: number;
}

/** How much of the cap is used. */
export interface CapUse {
  /** The fences that began within the window, and how many of them are unfinished. */
  readonly begun: number;
  readonly unfinished: number;
  readonly limits: Limits;
  /**
   * The size of the cluster for the limits: its present size, or its size when the fences of the window began if that
   * was larger.
   */
  readonly nodes: number;
  /** When enough fences have left the window (epoch ms). Null if the limit on the share does not block the fence. */
  readonly opens: number | null;
}

/** Without this, a share of 0.29 of 100 would be 28.999999999999996. */
const ROUNDING = 1e-9;

export const capLimits = ({ share, atOnce }: Policy['cap'], nodes: number): Limits => ({
  begun: Math.max(1, Math.floor(share * nodes + ROUNDING)),
  unfinished: Math.max(1, Math.floor(atOnce * nodes + ROUNDING)),
});

/** One fence, or several finished fences that are only counted. */
export interface DatedFences {
  /** Epoch ms. */
  readonly begun: number;
  readonly finished: boolean;
  readonly count: number;
}

/** Returns all fences within the window, the oldest first. */
export const oldestFirst = ({ entries, counted }: LedgerState): readonly DatedFences[] =>
  [
    ...entries.map(({ begun, finished }) => ({ begun, finished, count: 1 })),
    ...counted.map(({ begun, count }) => ({ begun, finished: true, count })),
  ].sort((a, b) => a.begun - b.begun);

const sumOf = (fences: readonly DatedFences[]): number => fences.reduce((sum, { count }) => sum + count, 0);

/** Returns when enough fences have left the window for another one to begin. Null if one may begin now. */
const opening = (fences: readonly DatedFences[], limit: number): number | null => {
  let left = sumOf(fences);
  for (const { begun, count } of fences) {
    if (left < limit) return null;
    left -= count;
    if (left < limit) return begun + timing.capWindow;
  }
  return null;
};

/**
 * Returns how much of the cap is used. The limits refer to the largest size of the cluster: its present size, or its
 * size at the time of any of these fences.
 */
export const capUse = (ledger: LedgerState, cap: Policy['cap'], nodesNow: number): CapUse => {
  const sizes = [...ledger.entries, ...ledger.counted];
  const nodes = sizes.reduce((most, one) => Math.max(most, one.nodes), nodesNow);
  const limits = capLimits(cap, nodes);
  const fences = oldestFirst(ledger);
  return {
    begun: sumOf(fences),
    unfinished: ledger.entries.filter(({ finished }) => !finished).length,
    limits,
    nodes,
    opens: opening(fences, limits.begun),
  };
};
