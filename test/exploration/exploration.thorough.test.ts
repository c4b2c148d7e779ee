import { describe, expect, it } from 'vitest';
import { exploreNamed } from './named.ts';
import { brokenAssumptions } from './scenarios.ts';

/** Enough states to break each of them. */
const MOST_STATES = 400_000;

/** What people and policies forbid. Too large for each `npm test`. */
const PEOPLE_AND_POLICIES = [
  'pause',
  'opt-out',
  'removed',
  'power-off',
  'left-marked-and-dry-run',
  'left-marked-in-shadow',
];

/** Each of them exhausts millions of states, on a machine that also does other things. */
const LASTS = { timeout: 600_000 };

describe('the exploration of the shipped rules and loop', () => {
  it(
    'exhausts a stop and a restart with runs that are killed or frozen at any point, and no invariant breaks',
    LASTS,
    () => {
      const { states, exhausted, story } = exploreNamed('restart');
      expect(story).toBeNull();
      expect(exhausted).toBe(true);
      expect(states).toBeGreaterThan(1_000_000);
    },
  );

  it('exhausts two runs that fence one machine, and no invariant breaks', LASTS, () => {
    const { states, exhausted, story } = exploreNamed('two-runs');
    expect(story).toBeNull();
    expect(exhausted).toBe(true);
    expect(states).toBeGreaterThan(1_000_000);
  });

  it.each(PEOPLE_AND_POLICIES)('exhausts %s, and no invariant breaks', LASTS, (name) => {
    expect(exploreNamed(name)).toMatchObject({ exhausted: true, story: null });
  });

  it.each(brokenAssumptions)(
    'finds what breaks if a term of the assumption does not hold: $scenario.says',
    (broken) => {
      const { story } = exploreNamed(broken.scenario.name, MOST_STATES);
      expect(story?.breaks).toBe(broken.breaks);
      expect(story?.says.some((sentence) => sentence.includes('off, which is stale'))).toBe(true);
    },
  );
});
