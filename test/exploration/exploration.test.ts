import { describe, expect, it } from 'vitest';
import { exploreNamed } from './named.ts';

/** Small enough to run with each `npm test`. Together, they have more than a million states. */
const NAMES = [
  'two-runs-after-the-mark',
  'stop',
  'attacher-down',
  'left-label',
  'left-parked',
  'left-parked-and-replaced',
  'wrong-account',
  'reused-node',
  'reused-node-of-a-stopped-machine',
  'reused-parked-node',
  'two-identities',
  'cap',
  'azure-stop',
  'azure-shutdown',
  'google-stop',
  'dry-run',
  'left-parked-and-dry-run',
  'shadow',
  'shadow-power-off',
  'shadow-and-foreign-taint',
  'left-parked-in-shadow',
  'left-parked-with-another-generation',
  'left-marked-and-stopping',
  'vouched-and-refused',
  'never-detached',
];

describe('the exploration of the shipped rules and loop', () => {
  it('exhausts more than a million states, and no invariant breaks', () => {
    const found = NAMES.map((name) => ({ name, ...exploreNamed(name) }));
    expect(found.filter(({ story }) => story !== null)).toEqual([]);
    expect(found.filter(({ exhausted }) => !exhausted)).toEqual([]);
    expect(found.reduce((sum, { states }) => sum + states, 0)).toBeGreaterThan(1_000_000);
  });
});
