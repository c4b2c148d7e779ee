/**
 * Answers requests in groups. Requests that arrive while a group is being answered form the next group. So one call
 * serves many runs, and a run that is alone never waits for others.
 */

/** A waiting request. Its caller may cancel it. */
export interface GroupMember {
  readonly signal: AbortSignal;
  readonly reject: (error: unknown) => void;
  /** The number of calls that did not answer this request. */
  tries: number;
}

/** The requests that one call answers. A group has at least one request. */
export type Group<T> = readonly [T, ...T[]];

export interface Groups<T> {
  /**
   * Queues a request for the next group. If the signal aborts, the request is rejected with the reason of the signal.
   */
  readonly add: (one: T) => void;
  /**
   * Queues a group again, before requests that arrived later. Rejects requests that have already been tried `most`
   * times.
   */
  readonly again: (group: readonly T[], most: number, error: Error) => void;
  /** Returns the waiting requests. */
  readonly waiting: () => readonly T[];
  /** Returns whether a group is being answered. */
  readonly isAnswering: () => boolean;
}

/** How a queue of requests is answered. */
interface Line<T> {
  waiting: readonly T[];
  isAnswering: boolean;
  /** The maximum number of requests in one group. */
  readonly most: number;
  /** Answers a group. If `answer` throws, all requests of the group are rejected. */
  readonly answer: (group: Group<T>) => Promise<void>;
}

const takeGroup = <T extends GroupMember>(line: Line<T>): Group<T> | null => {
  const wanted = line.waiting.filter(({ signal }) => !signal.aborted);
  line.waiting = wanted.slice(line.most);
  const [first, ...others] = wanted.slice(0, line.most);
  return first ? [first, ...others] : null;
};

/**
 * Answers all waiting requests, group by group. The loop checks for waiting requests and ends synchronously, so no
 * request can arrive in between and be lost.
 */
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

/** Creates an empty queue of requests. Groups are answered one at a time. */
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
