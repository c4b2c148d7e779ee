import type { MachineId } from './machine.ts';
import { patience, type Policy } from './policy.ts';

/**
 * Which fences were begun in a cluster lately, and which of them are unfinished: written down where no kubelet may
 * write, and before the fence begins. Nodes cannot tell: a fence that was taken back, or whose Node was deleted, left
 * nothing to count.
 */

/** One machine's latest fence. A machine counts once, however often it is fenced. */
export interface LedgerEntry {
  /** A short name for the machine, and one for the boot that is fenced. */
  readonly machine: string;
  readonly boot: string;
  /** Epoch ms; Infinity where the entry cannot be read. */
  readonly begun: number;
  readonly finished: boolean;
  /** How many Nodes the cluster had then. */
  readonly nodes: number;
}

/** A fence that wants to begin. */
export interface Claim {
  readonly machine: MachineId;
  /** The boot that has ended; null where nobody knows it (any more). */
  readonly boot: string | null;
  readonly cap: Policy['cap'];
  /** Dry run: nothing is entered. */
  readonly onlyAsked: boolean;
}

interface Limits {
  readonly begun: number;
  readonly unfinished: number;
}

/** How far the cap is used up. */
export interface CapUse {
  /** Fences that were begun within the window, and those of them that are not finished. */
  readonly begun: number;
  readonly unfinished: number;
  readonly limits: Limits;
  /**
   * The cluster's size to which the limits refer: the larger of what it is and what it was when the window's fences
   * began.
   */
  readonly nodes: number;
  /**
   * When the window has moved on far enough (epoch ms); null when the share of the cluster does not stand in the way.
   */
  readonly opens: number | null;
}

/** What stands in the way of one fence, or does not: the fences that are counted are those of the other machines. */
export interface Admission extends CapUse {
  readonly admitted: boolean;
}

/** A share such as 0.29 of 100 must not come to 28.999999999999996. */
const ROUNDING = 1e-9;

export const limitsOf = ({ share, atOnce }: Policy['cap'], nodes: number): Limits => ({
  begun: Math.max(1, Math.floor(share * nodes + ROUNDING)),
  unfinished: Math.max(1, Math.floor(atOnce * nodes + ROUNDING)),
});

const later = (one: LedgerEntry, other: LedgerEntry | undefined): LedgerEntry =>
  other && other.begun > one.begun ? other : one;

/** One entry a machine, none older than the window. `mended`: one that would never grow old begins to now. */
export const tidied = (
  read: readonly LedgerEntry[],
  now: number,
): { readonly entries: readonly LedgerEntry[]; readonly mended: boolean } => {
  const forged = (begun: number): boolean => begun > now + patience.clocksDiffer;
  const latest = new Map<string, LedgerEntry>();
  for (const entry of read) {
    const kept = forged(entry.begun) ? { ...entry, begun: now } : entry;
    if (now - kept.begun < patience.capWindow) latest.set(kept.machine, later(kept, latest.get(kept.machine)));
  }
  return { entries: [...latest.values()], mended: read.some(({ begun }) => forged(begun)) };
};

/** When so many have left the window that one more may begin; null when one may now. */
const opening = (entries: readonly LedgerEntry[], limit: number): number | null => {
  const oldestFirst = entries.map(({ begun }) => begun).sort((a, b) => a - b);
  const leaves = oldestFirst[oldestFirst.length - limit];
  return leaves === undefined ? null : leaves + patience.capWindow;
};

/** Of the cluster at its present size; entries know how large it was when they were made. */
export const capUse = (counted: readonly LedgerEntry[], cap: Policy['cap'], nodesNow: number): CapUse => {
  const nodes = counted.reduce((most, entry) => Math.max(most, entry.nodes), nodesNow);
  const limits = limitsOf(cap, nodes);
  return {
    begun: counted.length,
    unfinished: counted.filter(({ finished }) => !finished).length,
    limits,
    nodes,
    opens: opening(counted, limits.begun),
  };
};

/** A claim as the ledger knows it: by short names, and with what the cluster says at that moment. */
export interface Claimant extends Pick<Claim, 'cap' | 'boot' | 'machine'> {
  readonly nodes: number;
  readonly lifted: boolean;
  /** Epoch ms. */
  readonly now: number;
}

/**
 * Whether the fence may begin, and the ledger as it is to be written, or null when it stands right. A fence that is
 * entered already is admitted again: a message may come twice, a run may die behind its claim, and work may come back
 * to a fence that was finished. Its line is open then once more, and as old as it was.
 */
export const admit = (
  read: readonly LedgerEntry[],
  claimant: Claimant,
): { readonly says: Admission; readonly write: readonly LedgerEntry[] | null } => {
  const { machine, boot, now } = claimant;
  const { entries, mended } = tidied(read, now);
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
    write: admitted && entered?.finished !== false ? [...others, begins] : mended ? entries : null,
  };
};

/** The ledger once the machine's fence is over, or null when that is what it says. */
export const concluded = (
  read: readonly LedgerEntry[],
  machine: string,
  now: number,
): readonly LedgerEntry[] | null => {
  const { entries } = tidied(read, now);
  const open = entries.some((entry) => entry.machine === machine && !entry.finished);
  return open ? entries.map((entry) => (entry.machine === machine ? { ...entry, finished: true } : entry)) : null;
};
