import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { guardLine, writtenLines } from './guard-table.ts';
import { variants } from './unsafe-variants.ts';

/** `npm run test:thorough` explores the variants, and also compares the numbers of steps. */
it('docs/guards.md lists the unsafe variants that the exploration finds, and no others', async () => {
  const withoutSteps = (await writtenLines()).map((line) => line.replace(/\d+ \|$/, ' |'));
  expect(withoutSteps).toEqual(variants.map((variant) => guardLine(variant, null)));
});

it('each unsafe variant changes text that is in the code exactly once', () => {
  const elsewhere = variants.flatMap(({ says, edits }) =>
    edits
      .filter(
        ({ file, from }) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split(from).length !== 2,
      )
      .map(({ from }) => `${says}: ${from}`),
  );
  expect(elsewhere).toEqual([]);
});
