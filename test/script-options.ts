import { parseArgs, type ParseArgsConfig } from 'node:util';

/** The options of the npm scripts that are not test suites, such as `npm run mutate`. */

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<T extends Options> = ReturnType<typeof parseArgs<{ options: T }>>['values'];

const WRONG_USAGE = 2;

/** Ends the process with the usage: on stdout after `--help`, and otherwise on stderr with what is wrong. */
const showUsage = (usage: string, wrong: string | null): never => {
  if (wrong === null) console.log(usage);
  else console.error(`${wrong}\n\n${usage}`);
  return process.exit(wrong === null ? 0 : WRONG_USAGE);
};

/** Reads the options of this process. An unknown option, a missing value, and `--help` show the usage instead. */
export const readOptions = <const T extends Options>(usage: string, options: T): Values<T> => {
  if (process.argv.includes('--help')) return showUsage(usage, null);
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return showUsage(usage, error instanceof Error ? error.message : String(error));
  }
};
