import { existsSync, readFileSync } from 'node:fs';
import { join, matchesGlob, relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { defineConfig } from 'vitest/config';
import { LADDER, withoutRule } from './ladder.ts';

/**
 * What runs for the mutants: only the tests that matter to the mutated files. The files come in the order of the room's
 * list, which begins with the fast ones, because a mutant that a test has killed is not tried again.
 */

const tests = process.env['CLOUDFENCE_MUTATION_TESTS']?.split(' ') ?? ['test/fencing/**/*.test.ts'];

const rankOf = ({ moduleId }: TestSpecification): number =>
  tests.findIndex((glob) => matchesGlob(relative('.', moduleId), glob));

class AsListed extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

/** Replaces the mutated files by their code with all mutants in it. */
const withMutants = {
  name: 'with-mutants',
  enforce: 'pre' as const,
  load: (id: string) => {
    const folder = process.env['CLOUDFENCE_MUTANTS_CODE'];
    const path = join(folder ?? '', relative('.', id));
    return folder !== undefined && existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  },
};

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

const shipped = ['CLOUDFENCE_WITHOUT_RULE', 'CLOUDFENCE_MUTANTS_CODE'].every((name) => process.env[name] === undefined);
const inOneProcess = { runner: 'test/mutation/runner.ts', maxWorkers: 1, testTimeout: 4_000 };

export default defineConfig({
  plugins: [withMutants, withoutOneRule],
  test: {
    include: tests,
    exclude: ['test/**/*.{moto,e2e,deploy,slow,judge,thorough}.test.ts'],
    testTimeout: 180_000,
    provide: { thorough: false },
    isolate: false,
    // A module is kept by its text, which is the same with and without a change.
    fsModuleCache: shipped,
    sequence: { sequencer: AsListed },
    ...(process.env['CLOUDFENCE_MUTANTS_LOG'] === undefined ? {} : inOneProcess),
  },
});
