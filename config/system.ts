import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Moment } from '../fencing/rules/view.ts';

interface SystemClock {
  readonly now: () => Moment;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly timeout: (ms: number) => AbortSignal;
}

/** What a timer of the platform can hold: 24 days. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * The machine's two clocks as one that never runs slow: a function that was frozen with its whole machine may find its
 * monotonic clock standing where it was, and only the wall clock tells that the proof in its hands has grown old.
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

/** Names one run, and so the fences that it begins. */
export const newRunId = (): string => randomUUID();
