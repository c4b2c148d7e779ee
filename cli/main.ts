import type { WriteStream } from 'node:tty';
import { systemClock } from '../config/environment.ts';
import {
  withSafeLines,
  type Screen,
  type Terminal,
  readOutputOptions,
  reportFailure,
  packageFolder,
  withOwnPaths,
} from './answer.ts';
import { runCommand } from './program.ts';

const DEFAULT_COLUMNS = 80;

/** The timer does not keep the process alive. */
const repeatEvery = (ms: number, work: () => void): (() => void) => {
  const timer = setInterval(work, ms).unref();
  return () => clearInterval(timer);
};

const screenOf = (stream: WriteStream): Screen | null =>
  stream.isTTY
    ? { write: (text) => void stream.write(text), columns: () => stream.columns || DEFAULT_COLUMNS, every: repeatEvery }
    : null;

const terminal: Terminal = {
  screens: { output: screenOf(process.stdout), errors: screenOf(process.stderr) },
  line: (text) => console.log(withOwnPaths(text, packageFolder)),
  complain: (text) => console.error(withOwnPaths(text, packageFolder)),
  input: () => process.stdin,
  clock: systemClock(),
};

const args = process.argv.slice(2);

/** Ignores a closed output pipe, for example after `| head`. A fence in progress continues in any case. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/** Ends the process after an error that no command handled, because the remaining state is unknown. */
process.once('uncaughtException', (error) =>
  process.exit(reportFailure(error, readOutputOptions(args), withSafeLines(terminal))),
);

process.exitCode = await runCommand(args, terminal);
