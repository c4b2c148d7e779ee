import { expect, it } from 'vitest';
import { playStorm, type Storm } from './storm.ts';

/** `npm run bench -- --storm` plays up to 1,000 of 5,000 machines, and docs/recovery.md names the aims. */

const storm = (dead: number, how: Pick<Storm, 'eventsLost' | 'shape'>) =>
  playStorm({ machines: 5 * dead, dead, atOnce: 5, ...how });

/** The most that the larger storm may cost for each fence. Lower a number when the code needs less. */
it.each([
  ['all stop, with events', { shape: 'stops', eventsLost: false }, { calls: 34, kilobytes: 257, cloudCalls: 2 }],
  ['mixed, by sweeps', { shape: 'mixed', eventsLost: true }, { calls: 33, kilobytes: 293, cloudCalls: 1 }],
] as const)(
  '200 of 1,000 machines (%s) cost at most eleven times as much as 20 of 100, and every machine recovers',
  async (_, how, most) => {
    const [small, large] = [await storm(20, how), await storm(200, how)];
    for (const [dead, { fenced, free, deadLetters }] of [[20, small] as const, [200, large] as const])
      expect({ done: fenced + free, deadLetters }).toEqual({ done: dead, deadLetters: 0 });
    expect(large.calls / small.calls).toBeLessThanOrEqual(11);
    expect(large.bytes / small.bytes).toBeLessThanOrEqual(11);
    expect(Math.round(large.calls / large.fenced)).toBeLessThanOrEqual(most.calls);
    expect(Math.round(large.bytes / 1e3 / large.fenced)).toBeLessThanOrEqual(most.kilobytes);
    expect(Math.round(large.cloudCalls / large.fenced)).toBeLessThanOrEqual(most.cloudCalls);
  },
);
