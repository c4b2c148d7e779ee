import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { OwnBench } from '../bench/bench.ts';
import type { Change } from './changes.ts';
import { changeIn } from './changes.ts';
import { expectRecovered, openCrippled } from './crippled.ts';
import { cloudfence } from '../doors/doors.ts';
import type { Handling } from './gate.ts';

const AWAY_MS = 1_500;

/** Once for each of these changes: the API server dies as soon as it is made, so that its answer is lost, and comes back later. */
const restartedAfter = ({ apiServer }: OwnBench, changes: readonly Change[]): Handling => {
  const left = new Set<Change | null>(changes);
  return async (passing, forward) => {
    const answer = await forward();
    if (!left.delete(changeIn(passing))) return answer;
    await apiServer.stop();
    void delay(AWAY_MS).then(apiServer.start);
    return passing.to === 'api' ? 'cut' : answer;
  };
};

/** What one run says at its end, after which all is right; it waits for the API server each time. Every controller has lost its watches and takes them up again. */
export const fencedThrough = async (bench: OwnBench, changes: readonly Change[]): Promise<string> => {
  const crippled = await openCrippled(bench, 'outage');
  const { gates, home } = crippled;
  gates.handle(restartedAfter(bench, changes));
  const { says } = await cloudfence(gates.access, 'fence', home.instance);
  expect(gates.seen.filter(({ passing, status }) => passing.to === 'api' && status === null).length).toBeGreaterThan(0);
  await expectRecovered(crippled);
  await crippled.close();
  return says.outcome;
};
