import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OwnTestbed } from '../../testbed/testbed.ts';
import { openOwnTestbed } from '../../testbed/testbed.ts';
import { fencedThrough } from './outages.ts';

/** No other scenario can work while the API server is away. */
let testbed: OwnTestbed;
beforeEach(async () => {
  testbed = await openOwnTestbed();
});
afterEach(() => testbed?.close());

describe('an API server that is restarted during a fence', () => {
  it.for(['enter', 'mark', 'park', 'detach-disk', 'nudge'] as const)(
    'after its %s is waited for, and the fence ends as it should',
    async (change) => {
      expect(await fencedThrough(testbed, [change])).toBe('fenced');
    },
  );

  it('three times is waited for each time, and the fence ends as it should', async () => {
    expect(await fencedThrough(testbed, ['mark', 'delete-pod', 'detach-disk'])).toBe('fenced');
  });
});
