import { setTimeout as delay } from 'node:timers/promises';

/**
 * A condition that has been polled for long is polled less often, because each answer costs the control plane as much
 * as a step of what is waited for.
 */
const pauseAfter = (waitedMs: number): number => Math.min(500, Math.max(50, waitedMs / 20));

/**
 * Polls until there is an answer other than null, undefined, or false. The answer is late by at most a twentieth of the
 * time. An exception counts as no answer, and is the cause of the final error.
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
