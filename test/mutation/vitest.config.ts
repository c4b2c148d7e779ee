import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { defineConfig } from 'vitest/config';

/**
 * What Stryker runs for each mutant: only the tests that matter to the mutated files. Stryker ends a mutant with the
 * first test that fails, so the fast tests come first.
 */

const tests = process.env['CLOUDFENCE_MUTATION_TESTS']?.split(' ') ?? ['test/fencing/**/*.test.ts'];

const isSearch = ({ moduleId }: TestSpecification): boolean =>
  moduleId.includes('/test/simulation/') || moduleId.endsWith('/decide-always.test.ts');

class FastFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => Number(isSearch(one)) - Number(isSearch(other)));
  }
}

export default defineConfig({
  test: {
    include: tests,
    exclude: ['test/**/*.{moto,e2e,deploy,slow,judge,thorough}.test.ts'],
    testTimeout: 180_000,
    provide: { thorough: false },
    isolate: false,
    sequence: { sequencer: FastFirst },
  },
});
