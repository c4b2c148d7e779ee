import { setImmediate as quiet } from 'node:timers/promises';

/**
 * Virtual time over real sockets, for a client in its own process. Calls overlap as they would in reality. Their
 * answers are delivered in the order of virtual time, once nothing is on the wire any more. So the speed of this
 * computer and of the sandbox does not affect the calls, and a run with 5,000 nodes differs only where it must.
 */
export interface Pace {
  readonly now: () => number;
  /** A call that takes `ms`. `send` gets the moment of its arrival, and has its whole answer when it settles. */
  readonly call: <T>(ms: number, send: (arrives: number) => Promise<T>) => Promise<T>;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

interface Due {
  readonly at: number;
  readonly settle: () => void;
}

export const paceFrom = (start: number): Pace => {
  let now = start;
  let onTheWire = 0;
  let due: readonly Due[] = [];
  let passing = false;
  const mayPass = (): boolean => onTheWire === 0 && due.length > 0;
  const passTime = async (): Promise<void> => {
    if (passing) return;
    passing = true;
    // Requests that the last answers cause are on the wire before time continues.
    for (await quiet(); mayPass(); await quiet()) {
      now = Math.min(...due.map(({ at }) => at));
      const over = due.filter(({ at }) => at <= now);
      due = due.filter(({ at }) => at > now);
      for (const { settle } of over) settle();
    }
    passing = false;
  };
  const wake = (at: number, settle: () => void): void => {
    due = [...due, { at, settle }];
    void passTime();
  };
  const call: Pace['call'] = (ms, send) =>
    new Promise((resolve, reject) => {
      const at = now + ms;
      const over = (settle: () => void): void => {
        onTheWire -= 1;
        wake(at, settle);
      };
      onTheWire += 1;
      send(at).then(
        (answer) => over(() => resolve(answer)),
        (error: unknown) => over(() => reject(error)),
      );
    });
  const sleep: Pace['sleep'] = async (ms, signal) => {
    await new Promise<void>((resolve) => wake(now + ms, resolve));
    signal.throwIfAborted();
  };
  return { now: () => now, call, sleep };
};
