import { afterAll, describe, expect, it } from 'vitest';
import { openVariantThread } from './try-variant.ts';
import { variants } from './unsafe-variants.ts';

const thread = openVariantThread();
afterAll(() => thread.close());

describe('the exploration finds a schedule for each unsafe variant of the shipped code', () => {
  it.each(variants)('$says', async (variant) => {
    expect((await thread.explore(variant)).story?.breaks).toBe(variant.breaks);
  });
});
