import type { Clock } from '../../fencing/loop/ports.ts';
import type { Engine } from './engine.ts';

/**
 * One invocation of a function. It has its own clocks, may be frozen, and may be killed between any call and its
 * answer.
 */
export interface Process {
  readonly name: string;
  readonly clock: Clock;
  readonly isAlive: () => boolean;
  /** Ends it. It receives nothing any more. Calls that were sent still take effect. */
  readonly kill: () => void;
  /** Stops it for this time. Answers and timers arrive afterwards. */
  readonly freeze: (ms: number) => void;
  /** Lets the process notice something, once it is not frozen. */
  readonly notice: (happens: () => void) => void;
}

/** One error for all, because to create an error with its stack takes longer than anything else here. */
const TIME_IS_UP = new Error('the time is up');

/** A process that was frozen notices what it missed within this time (ms). */
const THAW_MS = 5;

interface Clocks {
  /** How far its wall clock is ahead (ms). */
  readonly skew: number;
  /** How far its monotonic clock is ahead of the clock of the engine (ms). */
  readonly monoOffset: number;
}

/** The wall clock of every simulation begins at this time. */
export const EPOCH = Date.UTC(2026, 0, 1);

export const startProcess = (engine: Engine, name: string, { skew, monoOffset }: Clocks): Process => {
  let alive = true;
  let frozenUntil = 0;
  const notice = (happens: () => void): void => {
    if (!alive) return;
    const left = frozenUntil - engine.now();
    if (left <= 0) return happens();
    engine.after(left + THAW_MS, () => notice(happens), 'answers');
  };
  const clock: Clock = {
    now: () => ({ wall: EPOCH + engine.now() + skew, mono: engine.now() + monoOffset }),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        engine.after(ms, () => notice(resolve), 'answers');
      }),
    timeout: (ms) => {
      const controller = new AbortController();
      if (Number.isFinite(ms)) engine.after(ms, () => notice(() => controller.abort(TIME_IS_UP)), 'answers');
      return controller.signal;
    },
  };
  return {
    name,
    clock,
    isAlive: () => alive,
    kill: () => void (alive = false),
    freeze: (ms) => void (frozenUntil = Math.max(frozenUntil, engine.now() + ms)),
    notice,
  };
};
