// Counts what a run of vitest reports: `passed failed total`. Why a test had to be tried again goes to stderr.
import { readFileSync } from 'node:fs';

const { numPassedTests, numFailedTests, numTotalTests, testResults } = JSON.parse(
  readFileSync(process.argv[2], 'utf8'),
);

for (const { status, fullName, failureMessages } of testResults.flatMap(({ assertionResults }) => assertionResults)) {
  if (status === 'passed' && failureMessages.length > 0)
    console.error(
      `-- tried again: ${fullName}\n   ${failureMessages.join('\n').split('\n').slice(0, 40).join('\n   ')}`,
    );
}
console.log(numPassedTests, numFailedTests, numTotalTests);
