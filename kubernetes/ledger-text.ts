import { createHash } from 'node:crypto';
import type { LedgerState, CountedFences, LedgerEntry } from '../fencing/model/cap-use.ts';
import { LEDGER } from './names.ts';

/**
 * The ledger as the text of a ConfigMap. One key has a line for each fence with an entry. The other key has a line for
 * each minute with fences that are only counted. The lines are so short that thousands fit into one ConfigMap.
 *
 * Versions before 0.2 know only the first key, and do not change the second one. So the first key also contains a
 * stand-in for each fence that is only counted: a line of one or two letters. An old version cannot read such a line,
 * and counts it as an unfinished fence that begins now. So it never admits too many fences. It writes that entry in
 * place of the stand-in, and this version recognizes the stand-in by the name of the machine.
 */

/** What a ConfigMap holds. */
export type MapData = Readonly<Record<string, string>>;

/** `<machine> <boot> <begun, epoch s> <o(pen) or f(inished)> <nodes>`; an unknown boot is `-`. */
const ENTRY = /^([\w-]{10}) ([\w-]{6}|-) (\d{1,12}) ([of]) (\d{1,7})$/;
/** `<begun, epoch s> <count> <nodes> <names, ten characters each>`; without the last part if there are no names. */
const COUNTED = /^(\d{1,12}) (\d{1,6}) (\d{1,7})(?: ((?:[\w.-]{10})+))?$/;
const NAME = /.{10}/g;

const digest = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, length);

/** Shortens a machine id. Machine ids are up to 300 characters long. */
export const shortMachine = (machine: string): string => digest(machine, 10);
export const shortBoot = (boot: string): string => digest(boot, 6);

/** A time that cannot be read counts as now. From the next write on, the entry ages. */
const UNREADABLE = { begun: Infinity, nodes: 0 } as const;

const entryIn = (line: string): LedgerEntry => {
  const [, machine, boot, begun, state, nodes] = ENTRY.exec(line) ?? [];
  if (machine === undefined) return { ...UNREADABLE, machine: shortMachine(line), boot: '', finished: false };
  return {
    machine,
    boot: boot === '-' ? '' : (boot ?? ''),
    begun: Number(begun) * 1_000,
    finished: state === 'f',
    nodes: Number(nodes),
  };
};

const countedIn = (line: string): CountedFences => {
  const [, begun, count, nodes, names = ''] = COUNTED.exec(line) ?? [];
  if (begun === undefined) return { ...UNREADABLE, count: 1, names: [] };
  const named = (names.match(NAME) ?? []).slice(0, Number(count));
  return { begun: Number(begun) * 1_000, count: Number(count), nodes: Number(nodes), names: named };
};

/**
 * The maximum number of lines. No cluster begins so many fences within the cap's window. An unreadable line becomes a
 * longer one. Without this limit, a text of many short lines would become too long for a ConfigMap, and no fence could
 * be added any more.
 */
const MOST_LINES = 10_000;

const linesIn = (text: string | undefined): readonly string[] =>
  (text ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

const standInsFor = (counted: readonly CountedFences[]): readonly string[] => {
  const fences = counted.reduce((sum, { count }) => sum + count, 0);
  return Array.from({ length: Math.min(MOST_LINES, fences) }, (_, nth) => nth.toString(36));
};

/** Returns the entries without those that an old version has written in place of stand-ins. */
const withoutStandIns = (entries: readonly LedgerEntry[], standIns: readonly string[]): readonly LedgerEntry[] => {
  if (entries.every(({ nodes }) => nodes > 0)) return entries;
  const written = new Set(standIns.map(shortMachine));
  return entries.filter(({ nodes, machine }) => nodes > 0 || !written.has(machine));
};

export const parseLedger = (data: MapData = {}): LedgerState => {
  const counted = linesIn(data[LEDGER.counts]).slice(-MOST_LINES).map(countedIn);
  const standIns = standInsFor(counted);
  const known = new Set(standIns);
  const lines = linesIn(data[LEDGER.fences]).filter((line) => !known.has(line));
  return { entries: withoutStandIns(lines.slice(-MOST_LINES).map(entryIn), standIns), counted };
};

const inSeconds = (ms: number): number => Math.floor(ms / 1_000);

/** The largest count that a line can contain. */
const MOST_COUNTED = 999_999;

export const serializeLedger = ({ entries, counted }: LedgerState): MapData => {
  const lines = entries.map(
    ({ machine, boot, begun, finished, nodes }) =>
      `${machine} ${boot || '-'} ${inSeconds(begun)} ${finished ? 'f' : 'o'} ${nodes}`,
  );
  const minutes = counted.map(({ begun, count, nodes, names }) =>
    [inSeconds(begun), Math.min(MOST_COUNTED, count), nodes, ...(names.length > 0 ? [names.join('')] : [])].join(' '),
  );
  return {
    [LEDGER.fences]: [...standInsFor(counted), ...lines].join('\n'),
    [LEDGER.counts]: minutes.join('\n'),
  };
};
