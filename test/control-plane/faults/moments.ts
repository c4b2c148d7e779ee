import type { Change } from './changes.ts';
import type { RunMoment, When } from './strike.ts';
import { inWords, pointsOf } from './strike.ts';

/**
 * Everything that a fence with the stubborn driver changes if nothing goes wrong, in order. The end in the ledger is
 * written into the same entry as the beginning: both count as one.
 */
export const CHANGES: readonly Change[] = [
  'enter',
  'mark',
  'delete-pod',
  'fail-pod',
  'delete-pod',
  'detach-disk',
  'nudge',
  'nudge',
  'nudge-off',
  'park',
  'record-event',
  'record-event',
];

/** Before and after each of them. In between, a run only reads, so these are all possible moments. */
export const moments: readonly (RunMoment & { readonly when: When; readonly words: string })[] = pointsOf(
  CHANGES,
).flatMap((point) => (['before', 'after'] as const).map((when) => ({ ...point, when, words: inWords(point) })));
