import { setTimeout as delay } from 'node:timers/promises';
import { changeIn, type Change } from './changes.ts';
import { NODE, recheckSpotter, STRAGGLES_MS } from './freeze.ts';
import type { Handling } from './gate.ts';

/**
 * Causes something once, between the look after that change and the recheck that follows. A recheck is recognized by
 * its read of the Lease, so its read of the Node is held back until then.
 */
export const atRecheck = (after: Change, happens: () => Promise<unknown>): Handling => {
  const isRecheck = recheckSpotter();
  let reached = false;
  let happening: Promise<unknown> | null = null;
  return async (passing, forward) => {
    const here = await isRecheck(passing);
    if (here && reached) happening ??= happens();
    if (NODE.test(passing.path) && passing.method === 'GET') await delay(4 * STRAGGLES_MS);
    await happening;
    const answer = await forward();
    reached ||= changeIn(passing) === after;
    return answer;
  };
};
