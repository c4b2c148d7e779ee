import type { Measured } from './measure.ts';

/** The table of one question: one line for each kind of call and each measure, one column for each size. */

const FIRST = 42;
const COLUMN = 18;

const line = (label: string, cells: readonly string[]): string =>
  `  ${label.padEnd(FIRST)}${cells.map((cell) => cell.padStart(COLUMN)).join('')}`;

export const grouped = (count: number): string => Math.round(count).toLocaleString('en-GB');

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

export const callsIn = ({ calls }: Pick<Measured, 'calls'>): number =>
  Object.values(calls).reduce((sum, times) => sum + times, 0);

/** Real time of the client, without the time that the sandbox took to answer. */
export const clientMs = ({ ms, busy }: Measured): number => Math.max(0, ms - busy);

const withRatio = (all: readonly Measured[], measureOf: (one: Measured) => number): readonly string[] => {
  const [smallest] = all;
  const first = smallest ? measureOf(smallest) : 0;
  return all.map((one) => `${grouped(measureOf(one))} (×${(measureOf(one) / first).toFixed(1)})`);
};

export const tableOf = (asks: string, all: readonly Measured[]): string => {
  const kinds = [...new Set(all.flatMap(({ calls }) => Object.keys(calls)))].toSorted();
  return [
    `${asks.charAt(0).toUpperCase()}${asks.slice(1)}`,
    line(
      '',
      all.map(({ nodes }) => `${grouped(nodes)} nodes`),
    ),
    ...kinds.map((kind) =>
      line(
        kind,
        all.map(({ calls }) => grouped(calls[kind] ?? 0)),
      ),
    ),
    line('calls in all', withRatio(all, callsIn)),
    line(
      'kB received',
      withRatio(all, ({ bytes }) => bytes / 1e3),
    ),
    line(
      'TLS connections',
      all.map(({ tlsConnections }) => grouped(tlsConnections)),
    ),
    line('ms of the client', withRatio(all, clientMs)),
    line(
      's of virtual time',
      all.map(({ virtualMs }) => (virtualMs / 1e3).toFixed(1)),
    ),
    line(
      'peak RSS above the start, MB',
      all.map(({ rss }) => megabytes(rss)),
    ),
    line(
      'peak heap above the start, MB',
      all.map(({ heap }) => megabytes(heap)),
    ),
  ].join('\n');
};
