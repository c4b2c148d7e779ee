import { createHash } from 'node:crypto';

/** The ledger as version 0.1.0 reads, counts, and writes it. That version runs beside this one during a deploy. */

interface Entry {
  readonly machine: string;
  readonly boot: string;
  readonly begun: number;
  readonly finished: boolean;
  readonly nodes: number;
}

const WINDOW_MS = 15 * 60_000;
const CLOCKS_DIFFER_MS = 60_000;
const MOST_LINES = 10_000;
const LINE = /^([\w-]{10}) ([\w-]{6}|-) (\d{1,12}) ([of]) (\d{1,7})$/;

const digest = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, length);

const entryIn = (line: string): Entry => {
  const [, machine, boot = '', begun, state, nodes] = LINE.exec(line) ?? [];
  if (machine === undefined) return { machine: digest(line, 10), boot: '', begun: Infinity, finished: false, nodes: 0 };
  return { machine, boot, begun: Number(begun) * 1_000, finished: state === 'f', nodes: Number(nodes) };
};

const read = (text: string): readonly Entry[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(-MOST_LINES)
    .map(entryIn);

const written = (entries: readonly Entry[]): string =>
  entries
    .map(
      ({ machine, boot, begun, finished, nodes }) =>
        `${machine} ${boot || '-'} ${Math.floor(begun / 1_000)} ${finished ? 'f' : 'o'} ${nodes}`,
    )
    .join('\n');

const pruned = (entries: readonly Entry[], now: number): readonly Entry[] => {
  const latest = new Map<string, Entry>();
  for (const entry of entries) {
    const one = entry.begun > now + CLOCKS_DIFFER_MS ? { ...entry, begun: now } : entry;
    const other = latest.get(one.machine);
    if (now - one.begun < WINDOW_MS) latest.set(one.machine, other && other.begun > one.begun ? other : one);
  }
  return [...latest.values()];
};

interface Reservation {
  readonly machine: string;
  readonly now: number;
  readonly nodes: number;
  readonly cap: { readonly share: number; readonly atOnce: number };
}

/** Returns whether it admits the fence of a machine, and the text that it writes. */
export const reserveBefore = (text: string, { machine, now, nodes, cap }: Reservation) => {
  const entries = pruned(read(text), now);
  const name = digest(machine, 10);
  const others = entries.filter((entry) => entry.machine !== name);
  const entered = entries.find((entry) => entry.machine === name);
  const size = Math.max(nodes, ...others.map((entry) => entry.nodes));
  const isBelow = (share: number, count: number): boolean => count < Math.max(1, Math.floor(share * size + 1e-9));
  const unfinished = others.filter(({ finished }) => !finished).length;
  const admitted = entered !== undefined || (isBelow(cap.share, others.length) && isBelow(cap.atOnce, unfinished));
  const begins = { ...(entered ?? { machine: name, boot: 'boot-1', begun: now, nodes }), finished: false };
  return { admitted, text: written(admitted ? [...others, begins] : entries) };
};

/** Returns the text that it writes when the fence of a machine ends. */
export const concludeBefore = (text: string, machine: string, now: number): string =>
  written(
    pruned(read(text), now).map((entry) =>
      entry.machine === digest(machine, 10) ? { ...entry, finished: true } : entry,
    ),
  );
