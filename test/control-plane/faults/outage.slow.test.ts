import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OwnBench } from '../../testbed/bench.ts';
import { openOwnBench } from '../../testbed/bench.ts';
import { fencedThrough } from './outages.ts';

/** Nobody else can do without the API server while it is away. */
let bench: OwnBench;
beforeEach(async () => {
  bench = await openOwnBench();
});
afterEach(() => bench?.close());

describe('an API server that is restarted in mid-fence', () => {
  it.for(['enter', 'mark', 'park', 'detach-disk', 'nudge'] as const)(
    'after its %s is waited for, and the fence ends right',
    async (change) => {
      expect(await fencedThrough(bench, [change])).toBe('fenced');
    },
  );

  it('three times is waited for each time, and the fence ends right', async () => {
    expect(await fencedThrough(bench, ['mark', 'delete-pod', 'detach-disk'])).toBe('fenced');
  });
});
