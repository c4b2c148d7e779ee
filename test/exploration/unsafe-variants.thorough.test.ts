import { afterAll, describe, expect, it } from 'vitest';
import { guardLine, lengthOf, writtenLines } from './guard-table.ts';
import { openVariantThread } from './try-variant.ts';
import { variants } from './unsafe-variants.ts';

const thread = openVariantThread();
afterAll(() => thread.close());

describe('the exploration finds a schedule that breaks this unsafe variant of the shipped code', () => {
  it.each(variants)('$says', async (variant) => {
    const found = await thread.explore(variant);
    expect(found.story?.breaks).toBe(variant.breaks);
    // The numbers of docs/guards.md. If they differ, `npm run explore -- --guards` writes them again.
    expect(await writtenLines()).toContain(guardLine(variant, lengthOf(found)));
  });
});
