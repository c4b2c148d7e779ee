import { expect, test } from 'vitest';
import { planFor } from './plan.ts';
import { play } from './simulation.ts';

const FIRST_SEED = 1;
const SCHEDULES = 100;

test(`${SCHEDULES} random schedules from seed ${FIRST_SEED} are safe, and come to their end`, async () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SCHEDULES; seed += 1) {
    const { violations, stuck } = await play(planFor(seed));
    expect({ seed, violations, stuck }).toEqual({ seed, violations: [], stuck: [] });
  }
});
