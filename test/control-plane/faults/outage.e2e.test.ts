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
  it('after a force delete is waited for, and the fence ends right', async () => {
    expect(await fencedThrough(bench, ['delete-pod'])).toBe('fenced');
  });
});
