import { describe, expect, it } from 'vitest';
import { playStorm } from './storm.ts';

/**
 * The most that a small storm may cost. Lower a number when the code needs less. `npm run bench -- --storm` plays 1,000 of
 * 5,000 machines, whose aims are 60 calls and 0.5 MB a fence, and 1,500 calls to EC2 in all.
 */
describe('a storm of 50 of 250 machines', () => {
  it.each([
    ['with events', false, { calls: 38, kilobytes: 152, cloudCalls: 4 }],
    ['with all events lost', true, { calls: 38, kilobytes: 193, cloudCalls: 1 }],
  ])('%s costs no more for each fence, and nobody is left', async (_, eventsLost, most) => {
    const { fenced, calls, bytes, cloudCalls, deadLetters } = await playStorm({
      machines: 250,
      dead: 50,
      eventsLost,
      atOnce: 5,
    });
    expect({ fenced, deadLetters }).toEqual({ fenced: 50, deadLetters: 0 });
    expect(Math.round(calls / fenced)).toBeLessThanOrEqual(most.calls);
    expect(Math.round(bytes / 1e3 / fenced)).toBeLessThanOrEqual(most.kilobytes);
    expect(Math.round(cloudCalls / fenced)).toBeLessThanOrEqual(most.cloudCalls);
  });
});
