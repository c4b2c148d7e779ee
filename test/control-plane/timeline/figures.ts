import type { Phase } from './phases.ts';
import type { Played } from './play.ts';

/** The numbers of several runs. What never happened counts as infinitely late. */

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]];
  return low === high ? low : (low + high) / 2;
};

const times = (played: readonly Played[], phase: Phase): readonly number[] =>
  played.map(({ moments }) => moments[phase] ?? Number.POSITIVE_INFINITY);

export const medianOf = (played: readonly Played[], phase: Phase): number => median(times(played, phase));

export const seconds = (value: number): string => {
  if (!Number.isFinite(value)) return '–';
  return value.toFixed(value < 100 ? 2 : 1);
};

/** The median of one phase. */
export const middle = (played: readonly Played[], phase: Phase): string => seconds(medianOf(played, phase));

/** The same, with the range if there are several runs. */
export const withRange = (played: readonly Played[], phase: Phase): string => {
  const all = times(played, phase);
  if (all.length < 2) return middle(played, phase);
  return `${middle(played, phase)} (${seconds(Math.min(...all))}–${seconds(Math.max(...all))})`;
};
