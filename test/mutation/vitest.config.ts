import { matchesGlob, relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { defineConfig } from 'vitest/config';

/**
 * What Stryker runs for each mutant: only the tests that matter to the mutated files. Stryker ends a mutant with the
 * first test that fails, so the files come in the order of the room's list, which begins with the fast ones.
 */

const tests = process.env['CLOUDFENCE_MUTATION_TESTS']?.split(' ') ?? ['test/fencing/**/*.test.ts'];

const placeOf = ({ moduleId }: TestSpecification): number =>
  tests.findIndex((glob) => matchesGlob(relative('.', moduleId), glob));

class AsListed extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}

export default defineConfig({
  test: {
    include: tests,
    exclude: ['test/**/*.{moto,e2e,deploy,slow,judge,thorough}.test.ts'],
    testTimeout: 180_000,
    provide: { thorough: false },
    isolate: false,
    sequence: { sequencer: AsListed },
  },
});
