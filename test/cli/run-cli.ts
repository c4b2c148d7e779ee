import { execFile } from 'node:child_process';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Screen } from '../../cli/answer.ts';
import { runCommand } from '../../cli/program.ts';
import type { LiveCloud } from './live-cloud.ts';

export interface CliAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a command gets in addition to its arguments. */
interface Given {
  /** Receives what the command draws, if its streams are terminals. */
  readonly draws?: (text: string) => void;
  readonly stdin?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

type Reached = Pick<LiveCloud<unknown>, 'kubeconfig' | 'environment'>;

export const launcher = fileURLToPath(new URL('../../cli/cloudfence.js', import.meta.url));

const environmentOf = (reached: Reached, { environment = {} }: Given): Record<string, string> => ({
  ...reached.environment,
  KUBECONFIG: reached.kubeconfig,
  ...environment,
});

/** The CLI as a child process, as a person starts it. The environment contains only what is given here. */
export const startCli = (args: readonly string[], reached: Reached, given: Given = {}): Promise<CliAnswer> =>
  new Promise((resolve) => {
    const env = environmentOf(reached, given);
    const child = execFile(process.execPath, [launcher, ...args], { env, encoding: 'utf8' }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? 1 : 0, stdout, stderr }),
    );
    child.stdin?.end(given.stdin ?? '');
  });

/** Runs with only these variables in the environment. */
export const withEnvironment = async <T>(env: Record<string, string>, run: () => Promise<T>): Promise<T> => {
  const own = process.env;
  process.env = env;
  try {
    return await run();
  } finally {
    process.env = own;
  }
};

const screenOf = ({ draws }: Given): Screen | null =>
  draws ? { write: draws, columns: () => 120, every: () => () => undefined } : null;

/** The CLI in this process, with the clock of the sandbox, so that its waits take no time. Only one run at a time. */
export const runCli = async (
  args: readonly string[],
  live: Reached & Pick<LiveCloud<unknown>, 'clock'>,
  given: Given = {},
): Promise<CliAnswer> => {
  const said = { stdout: '', stderr: '' };
  const code = await withEnvironment(environmentOf(live, given), () =>
    runCommand(args, {
      line: (text) => void (said.stdout += `${text}\n`),
      complain: (text) => void (said.stderr += `${text}\n`),
      input: () => Readable.from([given.stdin ?? '']),
      clock: live.clock,
      screens: { output: screenOf(given), errors: screenOf(given) },
    }),
  );
  return { code, ...said };
};
