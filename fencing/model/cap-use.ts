import { timing, type Policy } from './policy.ts';

/** What the ledger holds, and how much of the cap that uses. */

/** The latest fence of one machine. A machine counts once, however often it is fenced, while the ledger has its entry. */
export interface LedgerEntry {
  /** A short name for the machine, and one for the boot that is fenced. */
  readonly machine: string;
  readonly boot: string;
  /** Epoch ms. Infinity if the entry cannot be read. */
  readonly begun: number;
  readonly finished: boolean;
  /** The number of Nodes in the cluster at that time. */
  readonly nodes: number;
}

/** Finished fences that have no entries any more: those that began within one minute. */
export interface CountedFences {
  /** When the last of them began (epoch ms). Infinity if that cannot be read. */
  readonly begun: number;
  readonly count: number;
  /** The smallest number of Nodes in the cluster when one of them began. So the limits are never too high. */
  readonly nodes: number;
  /** Short names of those of them that have one (`foldedName`): at most as many as `count`. */
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
  /** Fences that were begun within the window, and those of them that are not finished. */
  readonly begun: number;
  readonly unfinished: number;
  readonly limits: Limits;
  /**
   * The size of the cluster to which the limits refer: the larger of its present size and its size when the fences of
   * the window began.
   */
  readonly nodes: number;
  /** When the window has moved on far enough (epoch ms). Null if the share of the cluster does not block the fence. */
  readonly opens: number | null;
}

/** A share such as 0.29 of 100 must not become 28.999999999999996. */
const ROUNDING = 1e-9;

export const capLimits = ({ share, atOnce }: Policy['cap'], nodes: number): Limits => ({
  begun: Math.max(1, Math.floor(share * nodes + ROUNDING)),
  unfinished: Math.max(1, Math.floor(atOnce * nodes + ROUNDING)),
});

/** A fence, or finished fences that are only counted. */
export interface DatedFences {
  /** Epoch ms. */
  readonly begun: number;
  readonly finished: boolean;
  readonly count: number;
}

/** Returns all fences that count, the oldest first. */
export const oldestFirst = ({ entries, counted }: LedgerState): readonly DatedFences[] =>
  [
    ...entries.map(({ begun, finished }) => ({ begun, finished, count: 1 })),
    ...counted.map(({ begun, count }) => ({ begun, finished: true, count })),
  ].sort((a, b) => a.begun - b.begun);

const sumOf = (fences: readonly DatedFences[]): number => fences.reduce((sum, { count }) => sum + count, 0);

/** Returns when enough fences have left the window for one more to begin. Null if one may begin now. */
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
 * Returns how much of the cap is used. The ledger holds the size of the cluster at the time of each fence, and the
 * largest of these and the present size counts.
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
