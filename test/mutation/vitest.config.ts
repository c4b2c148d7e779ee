import { readFileSync } from 'node:fs';
import { matchesGlob, relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { defineConfig } from 'vitest/config';
import { LADDER, withoutRule } from './ladder.ts';

/**
 * What Stryker runs for each mutant: only the tests that matter to the mutated files. Stryker ends a mutant with the
 * first test that fails, so the files come in the order of the room's list, which begins with the fast ones.
 */

const tests = process.env['CLOUDFENCE_MUTATION_TESTS']?.split(' ') ?? ['test/fencing/**/*.test.ts'];

const rankOf = ({ moduleId }: TestSpecification): number =>
  tests.findIndex((glob) => matchesGlob(relative('.', moduleId), glob));

class AsListed extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

/** Removes one rule from the ladder, if the command names one. */
const withoutOneRule = {
  name: 'without-one-rule',
  enforce: 'pre' as const,
  load: (id: string) => {
    const which = process.env['CLOUDFENCE_WITHOUT_RULE'];
    return which !== undefined && id.endsWith(LADDER)
      ? withoutRule(readFileSync(id, 'utf8'), Number(which))
      : undefined;
  },
};

export default defineConfig({
  plugins: [withoutOneRule],
  test: {
    include: tests,
    exclude: ['test/**/*.{moto,e2e,deploy,slow,judge,thorough}.test.ts'],
    testTimeout: 180_000,
    provide: { thorough: false },
    isolate: false,
    // A module is kept by its text, which is the same with and without a rule.
    fsModuleCache: process.env['CLOUDFENCE_WITHOUT_RULE'] === undefined,
    sequence: { sequencer: AsListed },
  },
});
