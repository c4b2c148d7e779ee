import type { Change } from './changes.ts';
import { changeIn } from './changes.ts';
import type { Handling, GateRequest } from './gate.ts';

/** A moment in a run: one of its changes is sent for the n-th time. */
export interface RunMoment {
  readonly change: Change;
  readonly nth: number;
}

export type When = 'before' | 'after';

export const inWords = ({ change, nth }: RunMoment): string => (nth === 1 ? change : `${change} number ${nth}`);

/** Every change of a list as a moment: the second `nudge` in it is the second to be sent. */
export const pointsOf = (changes: readonly Change[]): readonly RunMoment[] =>
  changes.map((change, at) => ({ change, nth: changes.slice(0, at + 1).filter((other) => other === change).length }));

type Strike = () => void | Promise<void>;

/** The same change, requested twice, has the same key. Each try of a mark differs, but all tries count as one. */
export const keyOf = (passing: GateRequest): string => {
  const change = changeIn(passing);
  return `${change} ${passing.path} ${passing.to === 'ec2' || change === 'note' ? passing.body : ''}`;
};

/**
 * Strikes once: before that change reaches its server, so that it never does, or after it, so that its answer is lost.
 */
export const strikeAt = ({ change, nth }: RunMoment, when: When, strike: Strike): Handling => {
  const passed = new Set<string>();
  let struck = false;
  return async (passing, forward) => {
    if (struck || changeIn(passing) !== change || passed.add(keyOf(passing)).size !== nth) return forward();
    struck = true;
    if (when === 'after') await forward();
    await strike();
    return 'cut';
  };
};

/**
 * Strikes at each change that it sees: before it the first time, and after it the second time. So the next run meets
 * what one run has left.
 */
export const strikeAtEach = (strike: Strike): Handling => {
  const times = new Map<string, number>();
  return async (passing, forward) => {
    if (changeIn(passing) === null) return forward();
    const time = (times.get(keyOf(passing)) ?? 0) + 1;
    times.set(keyOf(passing), time);
    if (time > 2) return forward();
    if (time === 2) await forward();
    await strike();
    return 'cut';
  };
};
