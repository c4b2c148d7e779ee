import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { OwnTestbed } from '../../testbed/testbed.ts';
import type { Change } from './changes.ts';
import { changeIn } from './changes.ts';
import { expectRecovered, openCrippled, type Crippled } from './crippled.ts';
import { cloudfence } from '../entry-points/programs.ts';
import type { Handling } from './gate.ts';

const AWAY_MS = 1_500;

interface Outages {
  readonly handling: Handling;
  /** Resolves once the API server is back from the last outage. */
  readonly over: () => Promise<void>;
}

/**
 * For each of these changes, once: the API server dies as soon as the change is made, so that its answer is lost, and
 * comes back later.
 */
const outagesAfter = (changes: readonly Change[], { apiServer }: OwnTestbed): Outages => {
  const left = new Set<Change | null>(changes);
  let back = Promise.resolve();
  const handling: Handling = async (passing, forward) => {
    const answer = await forward();
    if (!left.delete(changeIn(passing))) return answer;
    await back;
    await apiServer.stop();
    back = delay(AWAY_MS).then(apiServer.start);
    return passing.to === 'api' ? 'cut' : answer;
  };
  return { handling, over: () => back };
};

const fenced = async (testbed: OwnTestbed, crippled: Crippled, changes: readonly Change[]): Promise<string> => {
  const { gates, home } = crippled;
  const { handling, over } = outagesAfter(changes, testbed);
  gates.handle(handling);
  const { says } = await cloudfence(gates.access, 'fence', home.instance);
  expect(gates.seen.filter(({ passing, status }) => passing.to === 'api' && status === null).length).toBeGreaterThan(0);
  await over();
  await expectRecovered(crippled);
  return says.outcome;
};

/**
 * Returns the outcome of one run that succeeds. It waits for the API server each time. Every controller has lost its
 * watches, and opens them again.
 */
export const fencedThrough = async (testbed: OwnTestbed, changes: readonly Change[]): Promise<string> => {
  const crippled = await openCrippled(testbed, 'outage');
  try {
    return await fenced(testbed, crippled, changes);
  } finally {
    await crippled.close();
  }
};
