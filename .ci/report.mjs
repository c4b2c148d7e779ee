// Reads what a run of vitest reports as JSON.
import { existsSync, readFileSync } from 'node:fs';

/**
 * Returns the files of a report with their tests. If a file failed without a failed test, its set-up failed, and vitest
 * calls its tests skipped: they count as failed.
 */
export const filesIn = (report) => {
  const { testResults } = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : { testResults: [] };
  return testResults.map(({ name, status, message, assertionResults }) => {
    const onlyTheFile = status === 'failed' && !assertionResults.some((test) => test.status === 'failed');
    const tests = assertionResults.map((test) =>
      onlyTheFile && test.status === 'skipped' ? { ...test, status: 'failed', failureMessages: [message] } : test,
    );
    return { file: name, failed: status === 'failed', tests };
  });
};

export const failedIn = (files) =>
  files.flatMap(({ file, tests }) =>
    tests
      .filter(({ status }) => status === 'failed')
      .map(({ ancestorTitles, title }) => ({ file, path: [...ancestorTitles, title].join(' > ') })),
  );
