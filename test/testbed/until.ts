import { setTimeout as delay } from 'node:timers/promises';

/**
 * A condition that has been polled for a long time is polled less often, because each answer costs the control plane as
 * much as a step of the process that is waited for.
 */
const pauseAfter = (waitedMs: number): number => Math.min(1_000, Math.max(100, waitedMs / 12));

/**
 * Polls until there is an answer other than null, undefined, or false. The answer is late by at most a twelfth of the
 * time, or by 100 ms. An exception counts as no answer, and is the cause of the final error.
 */
export const until = async <T>(
  what: string,
  ask: () => Promise<T | null | undefined | false>,
  withinMs = 60_000,
): Promise<T> => {
  const begun = performance.now();
  for (let cause: unknown; ;) {
    try {
      const answer = await ask();
      if (answer !== null && answer !== undefined && answer !== false) return answer;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    const waited = performance.now() - begun;
    if (waited > withinMs) throw new Error(`waited ${withinMs / 1000} s in vain: ${what}`, { cause });
    await delay(pauseAfter(waited));
  }
};
