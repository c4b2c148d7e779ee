// Counts what a run of vitest reports: `passed failed total`. Why a test had to be tried again goes to stderr.
// Arguments: the report, and a word for each kind of test that a run of several kinds must have. A kind without a test
// has failed, and so has a file that failed without a test.
import { failedIn, filesIn } from './report.mjs';

const [, , report, ...kinds] = process.argv;
const files = filesIn(report);
const tests = files.flatMap((file) => file.tests);
const absent = kinds.filter((kind) => !files.some(({ file, tests }) => tests.length > 0 && file.includes(kind)));
if (absent.length > 0) console.error(`-- no test ran of: ${absent.join(', ')}`);

const withoutTest = files.filter(({ failed, tests }) => failed && !tests.some(({ status }) => status === 'failed'));
for (const { file } of withoutTest) console.error(`-- failed outside its tests: ${file}`);

for (const { status, fullName, failureMessages } of tests) {
  if (status === 'passed' && failureMessages.length > 0)
    console.error(
      `-- tried again: ${fullName}\n   ${failureMessages.join('\n').split('\n').slice(0, 40).join('\n   ')}`,
    );
}
const passed = tests.filter(({ status }) => status === 'passed').length;
console.log(passed, failedIn(files).length + absent.length + withoutTest.length, tests.length);
