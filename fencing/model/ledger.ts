import { type CapUse, capUse, type CountedFences, type LedgerEntry, type LedgerState } from './cap-use.ts';
import type { MachineId } from './machine.ts';
import { timing, type Policy } from './policy.ts';

/**
 * The ledger: which fences were begun in a cluster recently, and which of them are unfinished. Cloudfence writes it
 * where no kubelet may write, and before the fence begins. Nodes are not enough: a fence that was released, or whose
 * Node was deleted, left nothing to count.
 */

/** A request to begin a fence. */
export interface CapReservation {
  readonly machine: MachineId;
  /** The boot that has ended. Null if it is not known (any more). */
  readonly boot: string | null;
  readonly cap: Policy['cap'];
  /** Dry run: nothing is entered. */
  readonly onlyAsked: boolean;
}

/** Whether one fence may begin. The counted fences are those of the other machines. */
export interface Admission extends CapUse {
  readonly admitted: boolean;
}

const later = (one: LedgerEntry, other: LedgerEntry | undefined): LedgerEntry =>
  other && other.begun > one.begun ? other : one;

/**
 * Returns one entry for each machine, and nothing older than the window. What is dated too far ahead would never grow
 * old, so it begins now, and `corrected` is true.
 */
export const pruneLedger = (
  read: LedgerState,
  now: number,
): { readonly ledger: LedgerState; readonly corrected: boolean } => {
  const isAhead = ({ begun }: { readonly begun: number }): boolean => begun > now + timing.clocksDiffer;
  const recent = <T extends { readonly begun: number }>(all: readonly T[]): readonly T[] =>
    all
      .map((one) => (isAhead(one) ? { ...one, begun: now } : one))
      .filter(({ begun }) => now - begun < timing.capWindow);
  const latest = new Map<string, LedgerEntry>();
  for (const entry of recent(read.entries)) latest.set(entry.machine, later(entry, latest.get(entry.machine)));
  return {
    ledger: { entries: [...latest.values()], counted: recent(read.counted) },
    corrected: read.entries.some(isAhead) || read.counted.some(isAhead),
  };
};

/**
 * So many finished fences keep their entries, the latest ones. A cluster of up to 130 Nodes fences no more within the
 * window. The others are only counted: so a storm costs each of its fences the same, however many there are.
 */
const ENTRIES_KEPT = 64;

/**
 * So many of the fences that are only counted keep a name, the latest ones: if their machine is fenced again within the
 * window, or work returns to them, they still count once. Any other then counts twice.
 */
const NAMES_KEPT = 192;

const MINUTE_MS = 60_000;

const MACHINE_LENGTH = 6;
const BOOT_LENGTH = 4;
const machineIn = (machine: string): string => machine.slice(0, MACHINE_LENGTH).padEnd(MACHINE_LENGTH, '.');

/** Returns a name of ten characters for a machine and its boot, from the short names of an entry. */
const foldedName = ({ machine, boot }: Pick<LedgerEntry, 'machine' | 'boot'>): string =>
  `${machineIn(machine)}${boot.slice(0, BOOT_LENGTH).padEnd(BOOT_LENGTH, '.')}`;

const minuteOf = ({ begun }: Pick<CountedFences, 'begun'>): number => Math.floor(begun / MINUTE_MS);

const byMinute = (fences: readonly CountedFences[]): readonly CountedFences[] => {
  const minutes = new Map<number, CountedFences>();
  for (const one of fences) {
    const { begun, count, nodes, names } = minutes.get(minuteOf(one)) ?? { ...one, count: 0, names: [] };
    minutes.set(minuteOf(one), {
      begun: Math.max(begun, one.begun),
      count: count + one.count,
      nodes: Math.min(nodes, one.nodes),
      names: [...names, ...one.names],
    });
  }
  return [...minutes.values()];
};

/** Returns the same with the names of the latest fences only. */
const withLatestNames = (counted: readonly CountedFences[]): readonly CountedFences[] => {
  let left = NAMES_KEPT;
  return counted
    .toSorted((a, b) => b.begun - a.begun)
    .map((one) => {
      const names = one.names.slice(0, left);
      left -= names.length;
      return { ...one, names };
    });
};

const folded = (entry: LedgerEntry): CountedFences => ({
  begun: entry.begun,
  nodes: entry.nodes,
  count: 1,
  names: [foldedName(entry)],
});

/** Returns the ledger without the entries of all but the latest finished fences. They are counted instead. */
const withoutOldEntries = ({ entries, counted }: LedgerState, kept: number): LedgerState => {
  const over = entries.filter(({ finished }) => finished).sort((a, b) => b.begun - a.begun);
  const old = new Set(over.slice(kept));
  return {
    entries: entries.filter((entry) => !old.has(entry)),
    counted: withLatestNames(byMinute([...counted, ...[...old].map(folded)])),
  };
};

/** A reservation as the ledger handles it: with short names, and with what the cluster says at that moment. */
export interface ReservationContext extends Pick<CapReservation, 'cap' | 'boot' | 'machine'> {
  readonly nodes: number;
  /** A person allows fences beyond the cap for now. */
  readonly isOverridden: boolean;
  /** Epoch ms. */
  readonly now: number;
}

/** Returns the counted fences without those of the machine that have a name. */
const withoutMachine = (counted: readonly CountedFences[], machine: string): readonly CountedFences[] =>
  counted
    .map((one) => {
      const names = one.names.filter((name) => !name.startsWith(machineIn(machine)));
      return { ...one, names, count: one.count - one.names.length + names.length };
    })
    .filter(({ count }) => count > 0);

/**
 * Returns the entry of a fence that is only counted, as it was before, or null. Only the minute in which it began is
 * known, so the whole minute has to be within the window.
 */
const unfolded = (
  counted: readonly CountedFences[],
  { machine, boot, now }: Pick<ReservationContext, 'machine' | 'boot' | 'now'>,
): LedgerEntry | null => {
  const isIts = (name: string): boolean =>
    boot === null ? name.startsWith(machineIn(machine)) : name === foldedName({ machine, boot });
  const minute = counted.find((one) => one.names.some(isIts) && now - minuteOf(one) * MINUTE_MS < timing.capWindow);
  return minute ? { machine, boot: boot ?? '', begun: minute.begun, finished: true, nodes: minute.nodes } : null;
};

/**
 * Returns whether the fence may begin, and the ledger to write. `write` is null if the ledger is right already. A fence
 * that is entered already is admitted again: a message may arrive twice, a run may die after its reservation, and work may
 * return to a finished fence. The entry is then open once more and keeps its age. `kept` is how many finished fences keep
 * their entries.
 */
export const admitReservation = (
  read: LedgerState,
  reserving: ReservationContext,
  kept = ENTRIES_KEPT,
): { readonly says: Admission; readonly write: LedgerState | null } => {
  const { machine, boot, now } = reserving;
  const { ledger, corrected } = pruneLedger(read, now);
  const others: LedgerState = {
    entries: ledger.entries.filter((entry) => entry.machine !== machine),
    counted: withoutMachine(ledger.counted, machine),
  };
  const latest = ledger.entries.find((entry) => entry.machine === machine) ?? unfolded(ledger.counted, reserving);
  const entered = latest && (boot === null || latest.boot === boot) ? latest : undefined;
  const use = capUse(others, reserving.cap, reserving.nodes);
  const admitted =
    entered !== undefined ||
    reserving.isOverridden ||
    (use.begun < use.limits.begun && use.unfinished < use.limits.unfinished);
  const begins: LedgerEntry = entered
    ? { ...entered, finished: false }
    : { machine, boot: boot ?? '', begun: now, finished: false, nodes: reserving.nodes };
  const isNew = admitted && entered?.finished !== false;
  const after = isNew ? { ...others, entries: [...others.entries, begins] } : ledger;
  return { says: { ...use, admitted }, write: isNew || corrected ? withoutOldEntries(after, kept) : null };
};

/** Returns the ledger after the end of the fences that are over, or null if no entry of them is open. */
const finish = (
  read: LedgerState,
  now: number,
  kept: number,
  isOver: (entry: LedgerEntry) => boolean,
): LedgerState | null => {
  const { ledger } = pruneLedger(read, now);
  const ends = (entry: LedgerEntry): boolean => !entry.finished && isOver(entry);
  if (!ledger.entries.some(ends)) return null;
  const entries = ledger.entries.map((entry) => (ends(entry) ? { ...entry, finished: true } : entry));
  return withoutOldEntries({ ...ledger, entries }, kept);
};

/** Returns the ledger after the machine's fence is over, or null if the ledger already says so. */
export const concludeEntry = (
  read: LedgerState,
  machine: string,
  now: number,
  kept = ENTRIES_KEPT,
): LedgerState | null => finish(read, now, kept, (entry) => entry.machine === machine);

/**
 * Returns the ledger after the end of every fence that has left no trace in the cluster, or null if there is none. The
 * run of such a fence died before it could enter the end. The machines in `showing` may have an unfinished fence. A
 * fence that was entered a moment ago may not show yet. A line that could not be read may be any machine's.
 */
export const finishVanishedFences = (
  read: LedgerState,
  showing: ReadonlySet<string>,
  now: number,
  kept = ENTRIES_KEPT,
): LedgerState | null =>
  finish(
    read,
    now,
    kept,
    ({ machine, begun, nodes }) => nodes > 0 && !showing.has(machine) && now - begun >= timing.fenceShows,
  );
