import { describe, expect, it } from 'vitest';
import { exploreNamed } from './named.ts';
import { brokenAssumptions } from './scenarios.ts';

/** As many as it takes to break each of them. */
const MOST_STATES = 400_000;

/** Each exhausts millions of states, on a machine that does other things, too. */
const LASTS = { timeout: 600_000 };

describe('an exploration of the shipped rules and loop', () => {
  it('exhausts a stop and a restart with runs that are killed and frozen anywhere, and nothing breaks', LASTS, () => {
    const { states, exhausted, story } = exploreNamed('restart');
    expect(story).toBeNull();
    expect(exhausted).toBe(true);
    expect(states).toBeGreaterThan(1_000_000);
  });

  it('exhausts two runs that fence one machine, and nothing breaks', LASTS, () => {
    const { states, exhausted, story } = exploreNamed('two-runs');
    expect(story).toBeNull();
    expect(exhausted).toBe(true);
    expect(states).toBeGreaterThan(1_000_000);
  });

  it.each(brokenAssumptions)('finds what breaks where the assumption does not hold: $scenario.says', (broken) => {
    const { story } = exploreNamed(broken.scenario.name, MOST_STATES);
    expect(story?.breaks).toBe(broken.breaks);
    expect(story?.says.some((sentence) => sentence.endsWith('off, which is stale'))).toBe(true);
  });
});
