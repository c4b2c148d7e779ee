/**
 * Answers requests in groups. Those that come while a group is being answered wait, and then make the next group. So
 * one call serves many runs, and a run that is alone never waits.
 */

/** A request that waits. Its caller may give it up. */
export interface GroupMember {
  readonly signal: AbortSignal;
  readonly reject: (error: unknown) => void;
  /** How many answers it got that did not decide it. */
  tries: number;
}

/** The requests that one call answers: at least one. */
export type Group<T> = readonly [T, ...T[]];

export interface Groups<T> {
  /** Lets a request wait for the next group. If its signal aborts, it is rejected with the reason. */
  readonly add: (one: T) => void;
  /** Lets a group wait again, before those that came later. Rejects those that were tried `most` times. */
  readonly again: (group: readonly T[], most: number, error: Error) => void;
  /** Returns the requests that wait now. */
  readonly waiting: () => readonly T[];
  /** Returns whether a group is being answered. */
  readonly isAnswering: () => boolean;
}

/** The requests of a group, and what to do with each. */
interface Line<T> {
  waiting: readonly T[];
  isAnswering: boolean;
  /** The most requests in one group. */
  readonly most: number;
  /** Answers a group. If it throws, all of the group are rejected. */
  readonly answer: (group: Group<T>) => Promise<void>;
}

const takeGroup = <T extends GroupMember>(line: Line<T>): Group<T> | null => {
  const wanted = line.waiting.filter(({ signal }) => !signal.aborted);
  line.waiting = wanted.slice(line.most);
  const [first, ...others] = wanted.slice(0, line.most);
  return first ? [first, ...others] : null;
};

/** Answers what waits. Ends in the same moment in which nothing waits, so that no request comes between. */
const work = async <T extends GroupMember>(line: Line<T>): Promise<void> => {
  if (line.isAnswering) return;
  for (;;) {
    const group = takeGroup(line);
    line.isAnswering = group !== null;
    if (!group) return;
    try {
      await line.answer(group);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
};

/** Returns an empty line of requests. One group is answered at a time. */
export const createGroups = <T extends GroupMember>(
  answer: (group: Group<T>) => Promise<void>,
  most = Infinity,
): Groups<T> => {
  const line: Line<T> = { waiting: [], isAnswering: false, most, answer };
  return {
    add: (one) => {
      const { signal, reject } = one;
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason));
      line.waiting = [...line.waiting, one];
      void work(line);
    },
    again: (group, mostTries, error) => {
      for (const one of group) one.tries += 1;
      for (const { reject } of group.filter(({ tries }) => tries >= mostTries)) reject(error);
      line.waiting = [...group.filter(({ tries }) => tries < mostTries), ...line.waiting];
    },
    waiting: () => line.waiting,
    isAnswering: () => line.isAnswering,
  };
};
