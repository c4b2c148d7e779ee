import type { MachineId } from './machine.ts';
import { patience, type Policy } from './policy.ts';

/**
 * The ledger: which fences were begun in a cluster recently, and which of them are unfinished. Cloudfence writes it
 * where no kubelet may write, and before the fence begins. Nodes are not enough: a fence that was released, or whose
 * Node was deleted, left nothing to count.
 */

/** The latest fence of one machine. A machine counts once, however often it is fenced. */
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

/** A request to begin a fence. */
export interface CapClaim {
  readonly machine: MachineId;
  /** The boot that has ended. Null if it is not known (any more). */
  readonly boot: string | null;
  readonly cap: Policy['cap'];
  /** Dry run: nothing is entered. */
  readonly onlyAsked: boolean;
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

/** Whether one fence may begin. The counted fences are those of the other machines. */
export interface Admission extends CapUse {
  readonly admitted: boolean;
}

/** A share such as 0.29 of 100 must not become 28.999999999999996. */
const ROUNDING = 1e-9;

export const capLimits = ({ share, atOnce }: Policy['cap'], nodes: number): Limits => ({
  begun: Math.max(1, Math.floor(share * nodes + ROUNDING)),
  unfinished: Math.max(1, Math.floor(atOnce * nodes + ROUNDING)),
});

const later = (one: LedgerEntry, other: LedgerEntry | undefined): LedgerEntry =>
  other && other.begun > one.begun ? other : one;

/**
 * Returns one entry for each machine, none older than the window. An entry dated too far ahead would never grow old, so
 * it begins now, and `corrected` is true.
 */
export const pruneEntries = (
  read: readonly LedgerEntry[],
  now: number,
): { readonly entries: readonly LedgerEntry[]; readonly corrected: boolean } => {
  const forged = (begun: number): boolean => begun > now + patience.clocksDiffer;
  const latest = new Map<string, LedgerEntry>();
  for (const entry of read) {
    const plausible = forged(entry.begun) ? { ...entry, begun: now } : entry;
    if (now - plausible.begun < patience.capWindow)
      latest.set(plausible.machine, later(plausible, latest.get(plausible.machine)));
  }
  return { entries: [...latest.values()], corrected: read.some(({ begun }) => forged(begun)) };
};

/** Returns when enough fences have left the window for one more to begin. Null if one may begin now. */
const opening = (entries: readonly LedgerEntry[], limit: number): number | null => {
  const oldestFirst = entries.map(({ begun }) => begun).sort((a, b) => a - b);
  const leaves = oldestFirst[oldestFirst.length - limit];
  return leaves === undefined ? null : leaves + patience.capWindow;
};

/**
 * Returns how much of the cap is used. Each entry holds the size of the cluster at its time, and the largest of these
 * and the present size counts.
 */
export const capUse = (counted: readonly LedgerEntry[], cap: Policy['cap'], nodesNow: number): CapUse => {
  const nodes = counted.reduce((most, entry) => Math.max(most, entry.nodes), nodesNow);
  const limits = capLimits(cap, nodes);
  return {
    begun: counted.length,
    unfinished: counted.filter(({ finished }) => !finished).length,
    limits,
    nodes,
    opens: opening(counted, limits.begun),
  };
};

/** A claim as the ledger handles it: with short names, and with what the cluster says at that moment. */
export interface CapClaimContext extends Pick<CapClaim, 'cap' | 'boot' | 'machine'> {
  readonly nodes: number;
  readonly lifted: boolean;
  /** Epoch ms. */
  readonly now: number;
}

/**
 * Returns whether the fence may begin, and the ledger to write. `write` is null if the ledger is right already. A fence
 * that is entered already is admitted again: a message may arrive twice, a run may die after its claim, and work may
 * return to a finished fence. The entry is then open once more and keeps its age.
 */
export const admitClaim = (
  read: readonly LedgerEntry[],
  claimant: CapClaimContext,
): { readonly says: Admission; readonly write: readonly LedgerEntry[] | null } => {
  const { machine, boot, now } = claimant;
  const { entries, corrected } = pruneEntries(read, now);
  const others = entries.filter((entry) => entry.machine !== machine);
  const entered = entries.find((entry) => entry.machine === machine && (boot === null || entry.boot === boot));
  const use = capUse(others, claimant.cap, claimant.nodes);
  const admitted =
    entered !== undefined ||
    claimant.lifted ||
    (use.begun < use.limits.begun && use.unfinished < use.limits.unfinished);
  const begins: LedgerEntry = entered
    ? { ...entered, finished: false }
    : { machine, boot: boot ?? '', begun: now, finished: false, nodes: claimant.nodes };
  return {
    says: { ...use, admitted },
    write: admitted && entered?.finished !== false ? [...others, begins] : corrected ? entries : null,
  };
};

/** Returns the ledger after the machine's fence is over, or null if the ledger already says so. */
export const concludeEntry = (
  read: readonly LedgerEntry[],
  machine: string,
  now: number,
): readonly LedgerEntry[] | null => {
  const { entries } = pruneEntries(read, now);
  const open = entries.some((entry) => entry.machine === machine && !entry.finished);
  return open ? entries.map((entry) => (entry.machine === machine ? { ...entry, finished: true } : entry)) : null;
};

/**
 * Returns the ledger after the end of every fence that has left no trace in the cluster, or null if there is none. The
 * run of such a fence died before it could enter the end. The machines in `showing` may have an unfinished fence. A
 * fence that was entered a moment ago may not show yet. A line that could not be read may be any machine's.
 */
export const finishVanishedFences = (
  read: readonly LedgerEntry[],
  showing: ReadonlySet<string>,
  now: number,
): readonly LedgerEntry[] | null => {
  const { entries } = pruneEntries(read, now);
  const isOver = ({ machine, begun, finished, nodes }: LedgerEntry): boolean =>
    !finished && nodes > 0 && !showing.has(machine) && now - begun >= patience.fenceShows;
  return entries.some(isOver) ? entries.map((entry) => (isOver(entry) ? { ...entry, finished: true } : entry)) : null;
};
