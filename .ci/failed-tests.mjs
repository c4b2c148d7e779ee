// Prints what vitest needs to run the failed tests of a report again: a pattern of their names, then their files, a line
// each. Prints nothing if the report does not explain all failures, because a run without them would hide the others.
// Arguments: the report, and how many failures were counted.
import { failedIn, filesIn } from './report.mjs';

const [, , report, counted] = process.argv;
const failed = failedIn(filesIn(report));
const exactly = (text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
if (failed.length > 0 && failed.length === Number(counted)) {
  console.log(`^(${failed.map(({ path }) => exactly(path)).join('|')})$`);
  for (const file of new Set(failed.map(({ file }) => file))) console.log(file);
}
