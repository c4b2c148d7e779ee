// Counts what a run of vitest reports: `passed failed total`. Why a test had to be tried again goes to stderr.
// Arguments: the report, and a word for each kind of test that a run of several kinds must have. A kind without a test
// has failed.
import { readFileSync } from 'node:fs';

const [, , report, ...kinds] = process.argv;
const { numPassedTests, numFailedTests, numTotalTests, testResults } = JSON.parse(readFileSync(report, 'utf8'));
const absent = kinds.filter(
  (kind) => !testResults.some(({ name, assertionResults }) => assertionResults.length > 0 && name.includes(kind)),
);
if (absent.length > 0) console.error(`-- no test ran of: ${absent.join(', ')}`);

for (const { status, fullName, failureMessages } of testResults.flatMap(({ assertionResults }) => assertionResults)) {
  if (status === 'passed' && failureMessages.length > 0)
    console.error(
      `-- tried again: ${fullName}\n   ${failureMessages.join('\n').split('\n').slice(0, 40).join('\n   ')}`,
    );
}
console.log(numPassedTests, numFailedTests + absent.length, numTotalTests);
