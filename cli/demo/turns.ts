import { setImmediate as quiet } from 'node:timers/promises';

/**
 * Virtual time as a function's process meets it over real sockets: a call takes as long as it is told to, calls side by
 * side overlap, and whatever ends first comes first. Only one call is on the wire at a time, so that the speed of this
 * computer has no say in the order of things and one seed is one history.
 */
export interface Turns {
  /** A call that ends `ms` from now; `exchange` has to have its whole answer when it settles. */
  readonly call: <T>(ms: number, exchange: () => Promise<T>) => Promise<T>;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** The doors say that the call on the wire has reached them: its time passes now. */
  readonly arrived: () => void;
}

interface Turn {
  readonly at: number;
  readonly take: () => Promise<void>;
}

const earliest = (turns: readonly Turn[]): Turn | undefined =>
  turns.reduce<Turn | undefined>((best, other) => (best && best.at <= other.at ? best : other), undefined);

/** `passUntil` lets the world reach a moment that may be over already. */
export const turnsOver = (now: () => number, passUntil: (at: number) => void): Turns => {
  const waiting = new Set<Turn>();
  let onTheWire = now();
  let taking = false;
  const takeAll = async (): Promise<void> => {
    taking = true;
    // What the last answer set off asks for its own turn before the next is chosen.
    await quiet();
    for (let turn = earliest([...waiting]); turn; turn = earliest([...waiting])) {
      waiting.delete(turn);
      onTheWire = turn.at;
      await turn.take();
      await quiet();
    }
    taking = false;
  };
  const call: Turns['call'] = (ms, exchange) =>
    new Promise((resolve, reject) => {
      waiting.add({ at: now() + ms, take: () => exchange().then(resolve, reject) });
      if (!taking) void takeAll();
    });
  return {
    call,
    sleep: (ms, signal) =>
      call(ms, async () => {
        passUntil(onTheWire);
        signal.throwIfAborted();
      }),
    arrived: () => passUntil(onTheWire),
  };
};
