import pLimit from 'p-limit';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { played } from './differential.ts';
import { incidents, waitingIncidents } from './incidents.ts';
import { openRealStage } from './real.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

/**
 * Incidents whose times are compared exactly run alone on the computer. The others, which wait for the timers of
 * Kubernetes, run at the same time.
 */
const inTurn = pLimit(1);

/** The same events in the same order, from the same writers, at the same times, with the same end. */
describe.concurrent('the sandbox', () => {
  it.for(Object.entries(incidents))('does what a real control plane does: %s', async ([, incident], { expect }) => {
    expect(await inTurn(() => played(incident, () => openRealStage(testbed)))).toEqual([]);
  });

  it.for(Object.entries(waitingIncidents))(
    'waits for what a real control plane waits for: %s',
    async ([, incident], { expect }) => {
      expect(await played(incident, () => openRealStage(testbed))).toEqual([]);
    },
  );
});
