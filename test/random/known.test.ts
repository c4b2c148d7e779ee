import { expect, test } from 'vitest';
import { planFor, type Plan } from './plan.ts';
import { failureOf } from './shrink.ts';
import { play } from './simulation.ts';

/** Schedules that break something, until the shipped code is mended. */

/** Seed 616, shortened: a fenced machine is started while its kubelet is cut off, and then EC2 does not know it. */
const unknownAfterReturn: Plan = {
  ...planFor(616),
  clouds: ['aws', 'aws', 'aws'],
  mayHibernate: [false, false, false],
  databases: 3,
  happenings: [
    { at: 298_000, do: 'cut-off', machine: 0 },
    { at: 331_000, do: 'stop', machine: 0, byGuest: false, takes: 500 },
    { at: 348_000, do: 'start', machine: 0 },
  ],
  faultPeriods: [{ fault: 'not-found', service: 'cloud', from: 540_000, until: 660_000, share: 1 }],
  until: 660_000,
};

test('a cloud that knows the machine keeps its Node', async () => {
  expect(failureOf(await play({ ...unknownAfterReturn, faultPeriods: [] }))).toBeNull();
});

// The disks that its own fence freed are no witness.
test('a machine that came back keeps its Node although EC2 does not know it for two minutes', async () => {
  expect(failureOf(await play(unknownAfterReturn))).toBeNull();
});

// A look that the end of the run's time cuts off is no fault of Cloudfence: the run ends as one that got no answer.
test.each([9_500_014, 9_702_352])('the end of a run during a look is no fault (seed %i)', async (seed) => {
  expect(failureOf(await play(planFor(seed)))).toBeNull();
});
