import { expect, test } from 'vitest';
import { planFor } from './newest-plan.ts';
import { eventPlanFor } from './plan.ts';
import { failureOf } from './shrink.ts';
import { play } from './simulation.ts';
import { soakPlan } from './soak-plan.ts';
import { counter } from './tally.ts';

const FIRST_SEED = 1;
const SCHEDULES = 2_000;
const BY_EVENTS = 100;

test(`${SCHEDULES} random schedules from seed ${FIRST_SEED} are safe, and end`, async () => {
  const counted = counter();
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SCHEDULES; seed += 1) {
    const played = await play(planFor(seed));
    const { violations, stuck } = played;
    expect({ seed, violations, stuck }).toEqual({ seed, violations: [], stuck: [] });
    counted.add(played);
  }
  // Otherwise, the invariant of the cap would never be checked, or no finished fence would ever be counted without an
  // entry.
  const { counts } = counted.tally();
  expect(counts['admission']).toBeGreaterThan(SCHEDULES / 4);
  expect(counts['admission beside counted fences']).toBeGreaterThan(0);
});

test(`without faults and sweeps, events alone fence within two minutes (${BY_EVENTS} schedules)`, async () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + BY_EVENTS; seed += 1) {
    const { violations, stuck } = await play(eventPlanFor(seed));
    expect({ seed, violations, stuck }).toEqual({ seed, violations: [], stuck: [] });
  }
});

test('a seed always gives the same history', async () => {
  const [one, other] = [await play(planFor(9), { tells: true }), await play(planFor(9), { tells: true })];
  expect(one.story.length).toBeGreaterThan(3);
  expect(other.story).toEqual(one.story);
});

test('two hours of incidents on three clouds leave nothing behind', async () => {
  expect(failureOf(await play(soakPlan(1, 2)))).toBeNull();
});
