import { grouped } from '../../bench/table.ts';
import { sumOf, type Calls } from './calls.ts';
import { median, medianOf, seconds, withRange } from './figures.ts';
import type { Sized } from './report.ts';
import type { Table } from './table.ts';

/** The run that looked least often while Kubernetes worked. Its calls do not depend on this computer. */
export const fewest = ({ counted }: Sized): Calls => {
  const [least = {}] = counted.map(({ calls }) => calls).toSorted((one, other) => sumOf(one) - sumOf(other));
  return least;
};

export const totals = ({ counted }: Sized): string => counted.map(({ calls }) => sumOf(calls)).join(', ');

export const answeredAfter = ({ timed }: Sized): number => median(timed.map(({ answered }) => answered));

const kindsIn = (sizes: readonly Sized[]): readonly string[] =>
  [...new Set(sizes.flatMap((one) => Object.keys(fewest(one))))].toSorted();

/** One line for each measure and each kind of call, one column for each size. */
export const sizeTable = (sizes: readonly Sized[]): Table => [
  ['', ...sizes.map(({ nodes }) => `${grouped(nodes)} Nodes`)],
  ['calls of each counted run', ...sizes.map(totals)],
  ['event → attached elsewhere, s', ...sizes.map(({ timed }) => withRange(timed, 'attached'))],
  ['event → old pod gone, s', ...sizes.map(({ timed }) => withRange(timed, 'podGone'))],
  ['event → answer, s', ...sizes.map((one) => seconds(answeredAfter(one)))],
  ['the floor → attached elsewhere, s', ...sizes.map(({ floor }) => withRange(floor, 'attached'))],
  ...kindsIn(sizes).map((kind) => [kind, ...sizes.map((one) => String(fewest(one)[kind] ?? 0))]),
];

/** How much longer it takes in the larger cluster, with Cloudfence and by the floor. */
export const timeRatio = ([small, large]: readonly Sized[], whose: 'timed' | 'floor'): number =>
  small && large ? medianOf(large[whose], 'attached') / medianOf(small[whose], 'attached') : Number.NaN;

export const sameCalls = ([small, large]: readonly Sized[]): boolean => {
  if (!small || !large) return false;
  const [one, other] = [fewest(small), fewest(large)];
  return kindsIn([small, large]).every((kind) => one[kind] === other[kind]);
};
