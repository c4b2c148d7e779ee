import { setTimeout as delay } from 'node:timers/promises';

/**
 * Whoever has waited for long is asked less often: each answer costs the control plane as much as a step of what is
 * waited for.
 */
const pauseAfter = (waitedMs: number): number => Math.min(500, Math.max(50, waitedMs / 20));

/**
 * Asks until there is an answer other than null, undefined or false, which is had a twentieth of the time late at most.
 * What is thrown counts as no answer, and is the cause of the final error.
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
