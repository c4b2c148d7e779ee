/**
 * Virtual time. Everything that happens is an event in one queue, so a seed always gives the same history. Shipped code
 * is asynchronous: after an event that answers it, everything that it does without waiting is done before the next
 * event.
 */
export interface Engine {
  /** The time (ms), on no clock of a process. */
  readonly now: () => number;
  /** Schedules something for later. `answers` says that a promise may settle because of it. */
  readonly after: (ms: number, happens: () => void, answers?: 'answers') => void;
  /** Lets time pass until it is `until`, or until `isOver` returns true. */
  readonly run: (until: number, isOver?: () => boolean) => Promise<void>;
  /** Removes everything that has not happened yet. */
  readonly stop: () => void;
}

interface Due {
  readonly at: number;
  readonly order: number;
  readonly happens: () => void;
  readonly answers: boolean;
}

const isEarlier = (one: Due, other: Due): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);

/** A binary heap, earliest first. */
const heapOf = () => {
  const heap: Due[] = [];
  const place = (due: Due, at: number): void => void (heap[at] = due);
  const up = (due: Due): void => {
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (!above || !isEarlier(due, above)) break;
      place(above, at);
      at = parent;
    }
    place(due, at);
  };
  const smallerChild = (at: number): number => {
    const left = heap[2 * at + 1];
    const right = heap[2 * at + 2];
    return left && right && isEarlier(right, left) ? 2 * at + 2 : 2 * at + 1;
  };
  const down = (due: Due): void => {
    let at = 0;
    for (let child = smallerChild(at); child < heap.length; child = smallerChild(at)) {
      const below = heap[child];
      if (!below || !isEarlier(below, due)) break;
      place(below, at);
      at = child;
    }
    place(due, at);
  };
  const next = (): Due | undefined => {
    const first = heap[0];
    const last = heap.pop();
    if (last && heap.length > 0) down(last);
    return first;
  };
  return { add: up, next, peek: () => heap[0], clear: () => void (heap.length = 0) };
};

/**
 * Resolves once nothing is left to do that needs no event. Shipped code may itself wait for the next immediate, as a
 * detach on Azure does, so one is not enough.
 */
const drained = (): Promise<void> => new Promise((resolve) => void setImmediate(() => void setImmediate(resolve)));

export const createEngine = (): Engine => {
  const queue = heapOf();
  let time = 0;
  let order = 0;
  return {
    now: () => time,
    after: (ms, happens, answers) =>
      queue.add({ at: time + Math.max(0, ms), order: (order += 1), happens, answers: answers !== undefined }),
    run: async (until, isOver = () => false) => {
      for (let due = queue.peek(); due && due.at <= until && !isOver(); due = queue.peek()) {
        queue.next();
        time = due.at;
        due.happens();
        if (due.answers) await drained();
      }
      if (!isOver()) time = Math.max(time, until);
    },
    stop: queue.clear,
  };
};
