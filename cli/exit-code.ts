import type { OutcomeKind } from '../fencing/model/outcome.ts';

/**
 * 0 fenced, released, or a dry run that would do so, or rightly ignored · 1 failed · 2 usage or configuration · 3 still
 * waiting at the time-out · 4 refused · 130 interrupted by Ctrl-C.
 */
export const USAGE = 2;
export const INTERRUPTED = 130;

const codes: Record<OutcomeKind, number> = {
  fenced: 0,
  released: 0,
  'would-fence': 0,
  'would-release': 0,
  ignored: 0,
  failed: 1,
  waiting: 3,
  refused: 4,
};

/** Of several outcomes the one that most wants a person decides: a failure, then a refusal, then a wait. */
const gravest: readonly OutcomeKind[] = ['failed', 'refused', 'waiting'];

export const exitCodeOf = (outcomes: readonly OutcomeKind[]): number => {
  const worst = gravest.find((kind) => outcomes.includes(kind));
  return worst ? codes[worst] : 0;
};
