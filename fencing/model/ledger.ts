import { type CapUse, capUse, type CountedFences, type LedgerEntry, type LedgerState } from './cap-use.ts';
import type { MachineId } from './machine.ts';
import { timing, type Policy } from './policy.ts';

/**
 * The ledger: which fences began recently in a cluster, and which of them are unfinished. Cloudfence writes to it
 * before a fence begins. No kubelet can write it. Counting Nodes is not sufficient: a fence that was released, or whose
 * Node was deleted, leaves nothing to count.
 */

/** A request to begin a fence. */
export interface CapReservation {
  readonly machine: MachineId;
  /** The boot that has ended. Null if it is not known. */
  readonly boot: string | null;
  readonly cap: Policy['cap'];
  /** Dry run: nothing is written. */
  readonly onlyAsked: boolean;
}

/** A fence that has ended. `boot`: the boot that was fenced. Null if it is not known. */
export type EndedFence = Pick<CapReservation, 'machine' | 'boot'>;

/** Whether one more fence may begin. The counts leave out the requesting machine. */
export interface Admission extends CapUse {
  readonly admitted: boolean;
}

const later = (one: LedgerEntry, other: LedgerEntry | undefined): LedgerEntry =>
  other && other.begun > one.begun ? other : one;

/**
 * Returns one entry per machine, without entries older than the window. An entry that is dated too far in the future
 * would never expire, so its time is set to now, and `corrected` is true.
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
 * The number of finished fences that keep their entries. The latest ones keep them. A cluster of up to 130 Nodes does
 * not fence more machines within the window. The others are only counted. So the cost per fence does not grow with the
 * number of fences.
 */
const MAX_FINISHED = 64;

/**
 * The number of counted fences that keep a short name. The latest ones keep it. If such a machine is fenced again
 * within the window, or work returns to it, it still counts once. A machine without a name then counts twice.
 */
const NAMES_KEPT = 192;

const MINUTE_MS = 60_000;

const MACHINE_LENGTH = 6;
const BOOT_LENGTH = 4;
const machineIn = (machine: string): string => machine.slice(0, MACHINE_LENGTH).padEnd(MACHINE_LENGTH, '.');

/** Returns a name of ten characters for a machine and its boot, from the short names in an entry. */
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

/** Returns the counted fences with only the latest names. */
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

/**
 * Returns the ledger with only the latest entries of finished fences. The other finished fences are counted instead.
 */
const withoutOldEntries = ({ entries, counted }: LedgerState, maxFinished: number): LedgerState => {
  const over = entries.filter(({ finished }) => finished).sort((a, b) => b.begun - a.begun);
  const old = new Set(over.slice(maxFinished));
  return {
    entries: entries.filter((entry) => !old.has(entry)),
    counted: withLatestNames(byMinute([...counted, ...[...old].map(folded)])),
  };
};

/** A reservation with short names, and with the present state of the cluster. */
export interface ReservationContext extends Pick<CapReservation, 'cap' | 'boot' | 'machine'> {
  readonly nodes: number;
  /** Whether a person currently allows fences beyond the cap. */
  readonly isOverridden: boolean;
  /** Epoch ms. */
  readonly now: number;
}

/** Returns the counted fences without the named fences of this machine. */
const withoutMachine = (counted: readonly CountedFences[], machine: string): readonly CountedFences[] =>
  counted
    .map((one) => {
      const names = one.names.filter((name) => !name.startsWith(machineIn(machine)));
      return { ...one, names, count: one.count - one.names.length + names.length };
    })
    .filter(({ count }) => count > 0);

/**
 * Returns the former entry of a counted fence, or null. Only the minute of its beginning is known, so the whole minute
 * must be within the window.
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
 * Returns whether the fence may begin, and the new content of the ledger. `write` is null if the ledger needs no
 * change. A fence whose entry is open is admitted again: a message may arrive twice, and a run may die after its
 * reservation. If work returns to a finished fence, the fence needs a place among the unfinished ones. Its entry then
 * becomes open again, and keeps its age.
 * `maxFinished` is the number of finished fences that keep their entries.
 */
export const admitReservation = (
  read: LedgerState,
  reserving: ReservationContext,
  maxFinished = MAX_FINISHED,
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
  const isCounted = entered !== undefined || use.begun < use.limits.begun;
  const admitted =
    entered?.finished === false || reserving.isOverridden || (isCounted && use.unfinished < use.limits.unfinished);
  const begins: LedgerEntry = entered
    ? { ...entered, finished: false }
    : { machine, boot: boot ?? '', begun: now, finished: false, nodes: reserving.nodes };
  const isNew = admitted && entered?.finished !== false;
  const after = isNew ? { ...others, entries: [...others.entries, begins] } : ledger;
  const opens = entered ? null : use.opens;
  return {
    says: { ...use, opens, admitted },
    write: isNew || corrected ? withoutOldEntries(after, maxFinished) : null,
  };
};

/** Returns the ledger with the given fences marked as finished, or null if none of their entries is open. */
const finish = (
  read: LedgerState,
  now: number,
  maxFinished: number,
  isOver: (entry: LedgerEntry) => boolean,
): LedgerState | null => {
  const { ledger } = pruneLedger(read, now);
  const ends = (entry: LedgerEntry): boolean => !entry.finished && isOver(entry);
  if (!ledger.entries.some(ends)) return null;
  const entries = ledger.entries.map((entry) => (ends(entry) ? { ...entry, finished: true } : entry));
  return withoutOldEntries({ ...ledger, entries }, maxFinished);
};

/**
 * Returns the ledger with the machine's fence of this boot marked as finished, or null if nothing changes. Another boot
 * has another fence, which may have begun while the process of this one was frozen. A boot that the cloud did not name
 * matches any.
 */
export const concludeEntry = (
  read: LedgerState,
  { machine, boot }: EndedFence,
  now: number,
  maxFinished = MAX_FINISHED,
): LedgerState | null =>
  finish(
    read,
    now,
    maxFinished,
    (entry) => entry.machine === machine && (boot === null || entry.boot === '' || entry.boot === boot),
  );

/**
 * Returns the ledger with every fence marked as finished that has left no trace in the cluster, or null if there is
 * none. The run of such a fence died before it could record the end. The machines in `showing` may have an unfinished
 * fence. A fence that was added shortly before the cluster was read (`readAt`, epoch ms), or since then, may not show
 * there yet. An unreadable line may belong to any machine.
 */
export const finishVanishedFences = (
  read: LedgerState,
  { showing, readAt }: { readonly showing: ReadonlySet<string>; readonly readAt: number },
  now: number,
  maxFinished = MAX_FINISHED,
): LedgerState | null =>
  finish(
    read,
    now,
    maxFinished,
    ({ machine, begun, nodes }) => nodes > 0 && !showing.has(machine) && readAt - begun >= timing.fenceShows,
  );
