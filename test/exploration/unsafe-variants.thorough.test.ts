import { describe, expect, it } from 'vitest';
import { tryVariant } from './try-variant.ts';
import { variants } from './unsafe-variants.ts';

describe('the exploration finds a schedule for each unsafe variant of the shipped code', () => {
  it.each(variants)('$says', async (variant) => {
    expect(await tryVariant(variant)).toContain(`breaks ${variant.breaks}:`);
  });
});
