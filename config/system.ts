import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Moment } from '../fencing/rules/view.ts';

interface SystemClock {
  readonly now: () => Moment;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly timeout: (ms: number) => AbortSignal;
}

/** The longest time that a timer of the platform can hold: 24 days. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * Combines the machine's two clocks into one that never runs slow. When a function is frozen together with its machine,
 * the monotonic clock may stand still. Only the wall clock then shows that a proof has become old.
 */
export const systemClock = (
  wallClock: () => number = Date.now,
  monotonic: () => number = () => performance.now(),
): SystemClock => {
  let last = { wall: wallClock(), mono: monotonic() };
  let elapsed = 0;
  return {
    now: () => {
      const read = { wall: wallClock(), mono: monotonic() };
      elapsed += Math.max(0, read.wall - last.wall, read.mono - last.mono);
      last = read;
      return { wall: read.wall, mono: elapsed };
    },
    sleep: (ms, signal) => delay(ms, undefined, { signal }),
    timeout: (ms) => AbortSignal.timeout(Math.min(LONGEST_TIMEOUT_MS, Math.ceil(ms))),
  };
};

/** Returns a new name for a run, and so for the fences that the run begins. */
export const newRunId = (): string => randomUUID();
