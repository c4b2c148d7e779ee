import { setTimeout as delay } from 'node:timers/promises';

/** Time, as far as calls to an API server need it. */
export interface Clock {
  /** Epoch ms. */
  readonly now: () => number;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** A signal that aborts after so many ms. */
  readonly deadline: (ms: number) => AbortSignal;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => delay(ms, undefined, { signal }),
  deadline: (ms) => AbortSignal.timeout(ms),
};
