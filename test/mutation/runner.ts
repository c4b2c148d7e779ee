import { appendFileSync, readFileSync } from 'node:fs';
import { type RunnerTestCase, TestRunner, type TestTryOptions } from 'vitest';

/**
 * Runs each test once as it is, and then once more for each mutant that it reaches and that no test has killed yet. A
 * test that fails with a mutant runs again without it: only if it passes then, the mutant counts as killed.
 */

/** What Stryker's instrumented code shares with the runner of the tests. */
interface Instrumentation {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: { static: Record<string, number>; perTest: Record<string, Record<string, number>> };
}

declare global {
  // eslint-disable-next-line no-var
  var __stryker__: Instrumentation | undefined;
}

const TEST = 'this test';
const AS_IT_IS = 0;

/** A mutant may be reached so many times more often than it is without a change, before its test counts as endless. */
const ENDLESS = 100;

/** What a mutant leaves behind may make the next try fail, too. */
const MOST_FAILURES = 2;

/** Makes a passed test run again: the test runner repeats only what fails. */
class GoesOn extends Error {}

/** The mutants that no test has killed. All files of tests share it. */
const alive = new Set((process.env['CLOUDFENCE_MUTANTS_ALIVE'] ?? '').split(','));

const LOG = process.env['CLOUDFENCE_MUTANTS_LOG'] ?? '';

const note = (what: string, about: string): void => appendFileSync(LOG, `${what} ${about}\n`);

/** The tests that an earlier process has run with all their mutants, before it got stuck in another test. */
const done = new Set(readFileSync(LOG, 'utf8').split('\n'));

const notedAtLoad = new Set<string>();

const noteAtLoad = (mutants: readonly string[]): void => {
  const others = mutants.filter((mutant) => !notedAtLoad.has(mutant));
  for (const mutant of others) notedAtLoad.add(mutant);
  if (others.length > 0) note('static', others.join(','));
};

const doneOf = (test: RunnerTestCase): string => JSON.stringify([test.file.name, test.fullTestName]);

const instrumentation: Instrumentation = (globalThis.__stryker__ ??= {});

export default class MutantRunner extends TestRunner {
  private hits: Readonly<Record<string, number>> = {};
  private queue: string[] = [];
  private suspect: string | null = null;
  /** How often the test has failed without a mutant since it failed with the suspect. */
  private failures = 0;
  private passed = false;

  override async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    if (done.has(`done ${doneOf(test)}`)) test.mode = 'skip';
    await super.onBeforeRunTask(test);
    test.repeats = 1;
    test.retry = 0;
  }

  override onBeforeTryTask(test: RunnerTestCase, options: TestTryOptions): void {
    this.passed = false;
    // Each try waits for what the tries before have expected, and a mutant may let that wait for ever.
    test.promises = [];
    instrumentation.activeMutant = undefined;
    instrumentation.currentTestId = TEST;
    if (options.repeats !== AS_IT_IS && this.suspect === null) this.activate(this.queue.shift());
    super.onBeforeTryTask(test, options);
  }

  private activate(mutant: string | undefined): void {
    instrumentation.activeMutant = mutant;
    if (mutant === undefined) return;
    instrumentation.hitCount = 0;
    instrumentation.hitLimit = ENDLESS * (1 + (this.hits[mutant] ?? 0));
    note('tries', mutant);
  }

  override onAfterTryTask(test: RunnerTestCase, { repeats } = { repeats: AS_IT_IS }): void {
    super.onAfterTryTask(test);
    this.passed = true;
    if (repeats !== AS_IT_IS && this.queue.length > 0) throw new GoesOn();
  }

  override async onAfterRetryTask(test: RunnerTestCase, options: TestTryOptions): Promise<void> {
    await super.onAfterRetryTask(test, options);
    const mutant = instrumentation.activeMutant;
    instrumentation.activeMutant = undefined;
    instrumentation.currentTestId = undefined;
    if (options.repeats === AS_IT_IS) this.collect(test);
    else this.judge(mutant ?? null);
    if (test.result) Object.assign(test.result, { errors: test.result.errors?.slice(-1), attempts: [] });
  }

  override onAfterRunTask(test: RunnerTestCase): void {
    super.onAfterRunTask(test);
    note('done', doneOf(test));
  }

  /** Takes the mutants that the test has reached, if it passes as it is. */
  private collect(test: RunnerTestCase): void {
    const coverage = instrumentation.mutantCoverage;
    this.hits = coverage?.perTest[TEST] ?? {};
    if (coverage) coverage.perTest = {};
    noteAtLoad(Object.keys(coverage?.static ?? {}));
    this.suspect = null;
    this.queue = this.passed ? Object.keys(this.hits).filter((mutant) => alive.has(mutant)) : [];
    if (!this.passed) note('fails', test.fullTestName);
    test.retry = {
      count: (1 + MOST_FAILURES) * this.queue.length,
      condition: () => this.queue.length > 0 || this.suspect !== null,
    };
  }

  private judge(mutant: string | null): void {
    if (this.suspect === null) {
      this.suspect = this.passed ? null : mutant;
      return;
    }
    if (this.passed) {
      alive.delete(this.suspect);
      note('killed', this.suspect);
    } else if (++this.failures < MOST_FAILURES) return;
    else this.queue = [];
    this.suspect = null;
    this.failures = 0;
  }
}
