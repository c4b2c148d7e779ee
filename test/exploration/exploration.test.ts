import { describe, expect, it } from 'vitest';
import { exploreNamed } from './named.ts';

/** Small enough for every run of the tests, and more than a million states together. */
const NAMES = [
  'stop',
  'stop-and-fault',
  'terminate',
  'cut-off',
  'removed',
  'left-parked',
  'azure-stop',
  'azure-shutdown',
  'google-stop',
  'hibernate',
  'pause',
  'cap',
  'foreign-taint',
  'left-parked-and-replaced',
];

describe('an exploration of the shipped rules and loop', () => {
  it('exhausts more than a million states, and nothing breaks', () => {
    const found = NAMES.map((name) => ({ name, ...exploreNamed(name) }));
    expect(found.filter(({ story }) => story !== null)).toEqual([]);
    expect(found.filter(({ exhausted }) => !exhausted)).toEqual([]);
    expect(found.reduce((sum, { states }) => sum + states, 0)).toBeGreaterThan(1_000_000);
  });
});
