import { setTimeout as delay } from 'node:timers/promises';

const INTERVAL_MS = 50;

/**
 * Asks until there is an answer other than null, undefined or false. What is thrown counts as no answer, and is the cause
 * of the final error.
 */
export const until = async <T>(what: string, ask: () => Promise<T | null | undefined | false>, withinMs = 60_000): Promise<T> => {
  const deadline = performance.now() + withinMs;
  for (let cause: unknown; ; ) {
    try {
      const answer = await ask();
      if (answer !== null && answer !== undefined && answer !== false) return answer;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > deadline) throw new Error(`waited ${withinMs / 1000} s in vain: ${what}`, { cause });
    await delay(INTERVAL_MS);
  }
};
