import type { Change } from './changes.ts';
import type { RunMoment, When } from './strike.ts';
import { inWords, pointsOf } from './strike.ts';

/**
 * Everything that an undisturbed fence of the crippled stage changes, in order. The ledger gets the end in the same
 * entry as the begin: both count as one.
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

/** Before and after each of them. In between a run only reads, so these are all the moments there are. */
export const moments: readonly (RunMoment & { readonly when: When; readonly words: string })[] = pointsOf(
  CHANGES,
).flatMap((point) => (['before', 'after'] as const).map((when) => ({ ...point, when, words: inWords(point) })));
