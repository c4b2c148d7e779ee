import { createHash } from 'node:crypto';
import type { LedgerEntry } from '../fencing/ledger.ts';

/**
 * The ledger as text: one line for a fence, short enough that thousands fit into one ConfigMap.
 * `<machine> <boot> <begun, epoch s> <o(pen) or f(inished)> <nodes>`; a boot that nobody knows is `-`.
 */
const LINE = /^([\w-]{10}) ([\w-]{6}|-) (\d{1,12}) ([of]) (\d{1,7})$/;

const digest = (text: string, length: number): string => createHash('sha256').update(text).digest('base64url').slice(0, length);

/** Ids of machines are up to 300 characters long. */
export const shortMachine = (machine: string): string => digest(machine, 10);
export const shortBoot = (boot: string): string => digest(boot, 6);

/** Whoever wrote a line that cannot be read: it counts as a fence begun now, and is aged from the next write on. */
const unreadable = (line: string): LedgerEntry => ({ machine: shortMachine(line), boot: '', begun: Infinity, finished: false, nodes: 0 });

const entryIn = (line: string): LedgerEntry => {
  const [, machine, boot, begun, state, nodes] = LINE.exec(line) ?? [];
  if (machine === undefined) return unreadable(line);
  return { machine, boot: boot === '-' ? '' : (boot ?? ''), begun: Number(begun) * 1_000, finished: state === 'f', nodes: Number(nodes) };
};

export const readLedger = (text: string): readonly LedgerEntry[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map(entryIn);

export const writtenLedger = (entries: readonly LedgerEntry[]): string =>
  entries.map(({ machine, boot, begun, finished, nodes }) => `${machine} ${boot || '-'} ${Math.floor(begun / 1_000)} ${finished ? 'f' : 'o'} ${nodes}`).join('\n');
