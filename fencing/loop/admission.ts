import type { LimitFunction } from 'p-limit';
import type { Ports } from './ports.ts';

/**
 * Decides how many runs of one invocation may be active. Too many runs of full Nodes on a small share of a core delay
 * each other until each proof expires before its use, and then none of them ever takes a step.
 */

/** The number of runs that begin at once. So many runs of full Nodes can share 0.145 of a core. */
export const FIRST_RUNS = 5;
const FEWEST_RUNS = 2;

/** The limit changes after each period of this length (ms). */
const PERIOD_MS = 250;
/** A period that ends later than this (ms) shows that the process lacks processor time. */
const LATE_MS = 50;

const limitAfter = (limit: number, late: number, most: number): number =>
  late > LATE_MS ? Math.max(FEWEST_RUNS, Math.floor(limit / 2)) : Math.min(most, limit + 1);

/**
 * Admits more waiting runs while the process is in time, up to `most`, and fewer while it is late. Active runs
 * continue. Returns when no run waits any more, or when the signal aborts. Never throws.
 */
export const admitByPace = async (
  runs: Pick<LimitFunction, 'pendingCount' | 'concurrency'>,
  most: number,
  { clock, signal }: Pick<Ports, 'clock' | 'signal'>,
): Promise<void> => {
  while (runs.pendingCount > 0 && !signal.aborted) {
    const due = clock.now().mono + PERIOD_MS;
    await clock.sleep(PERIOD_MS, signal).catch(() => undefined);
    runs.concurrency = limitAfter(runs.concurrency, clock.now().mono - due, most);
  }
};
