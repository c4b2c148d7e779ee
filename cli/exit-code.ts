import type { OutcomeKind } from '../fencing/model/outcome.ts';

/**
 * Exit codes: 0 fenced, released, a dry run that would do so, or rightly ignored · 1 failed · 2 usage or configuration
 * · 3 still waiting at the timeout · 4 refused · 130 interrupted by Ctrl-C. `diagnose`: 0 no pod waits · 3 the wait
 * ends by itself or with a fence · 4 a person has to act. `status`: 0 no Node is fenced · 1 a cluster did not answer ·
 * 3 Nodes are fenced · 4 a fence needs a person. `doctor`: 0 ready, also with warnings · 1 not ready. `drill`: 1 also
 * for a recovery that is too slow, or something left.
 */
export const USAGE_ERROR = 2;
export const STILL_WAITING = 3;
export const NEEDS_PERSON = 4;
export const INTERRUPTED = 130;

const codes: Record<OutcomeKind, number> = {
  fenced: 0,
  released: 0,
  'would-fence': 0,
  'would-release': 0,
  ignored: 0,
  failed: 1,
  waiting: STILL_WAITING,
  refused: NEEDS_PERSON,
};

/**
 * Among several outcomes, the one that most needs a person determines the exit code: a failure, then a refusal, then a
 * wait.
 */
const mostSevereFirst: readonly OutcomeKind[] = ['failed', 'refused', 'waiting'];

export const exitCodeOf = (outcomes: readonly OutcomeKind[]): number => {
  const worst = mostSevereFirst.find((kind) => outcomes.includes(kind));
  return worst ? codes[worst] : 0;
};
