import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Stryker } from '@stryker-mutator/core';

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'cloudfence', 'mutation');

/** A mutant, and what happened to it. */
export type Mutant = Awaited<ReturnType<Stryker['runMutationTest']>>[number];

interface Mutation {
  readonly files: readonly string[];
  readonly tests: readonly string[];
  readonly force: boolean;
  readonly concurrency: number;
  /** How long a mutant may take in addition to its tests. One that never ends takes this long. */
  readonly timeoutMS: number;
}

/** Runs Stryker. Keeps earlier results. A result is valid until the mutant or one of its tests changes. */
export const mutate = ({ files, tests, force, concurrency, timeoutMS }: Mutation): Promise<readonly Mutant[]> => {
  process.env['CLOUDFENCE_MUTATION_TESTS'] = tests.join(' ');
  return new Stryker({
    mutate: [...files],
    testRunner: 'vitest',
    vitest: { configFile: 'test/mutation/vitest.config.ts', related: true, pool: 'threads' },
    plugins: ['@stryker-mutator/vitest-runner', './test/mutation/message-texts.ts'],
    ignorers: ['message-texts'],
    coverageAnalysis: 'perTest',
    concurrency,
    // Stryker would rewrite it with an interface of the compiler that TypeScript 7 does not have.
    tsconfigFile: 'none',
    disableTypeChecks: true,
    incremental: true,
    incrementalFile: join(cache, 'incremental.json'),
    force,
    tempDirName: join(tmpdir(), 'cloudfence-mutation'),
    ignorePatterns: ['dist', 'coverage'],
    reporters: ['progress-append-only', 'json'],
    jsonReporter: { fileName: join(cache, 'report.json') },
    timeoutMS,
  }).runMutationTest();
};
