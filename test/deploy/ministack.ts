import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { SANDBOX_ACCOUNT, SANDBOX_REGION } from '../../sandbox/aws-sandbox.ts';
import { freePorts } from '../testbed/free-ports.ts';
import { until } from '../testbed/until.ts';

/**
 * The only place where these tests read the path of ministack: CLOUDFENCE_MINISTACK, or what .ci/install-ministack
 * installs.
 */
const usual = path.join(
  process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'),
  'cloudfence',
  'ministack-1.5.33',
  'bin',
  'ministack',
);
const program = process.env['CLOUDFENCE_MINISTACK'] ?? usual;

export interface Ministack {
  readonly url: string;
  /** The environment in which command lines and SDKs use this AWS with the sandbox's account. */
  readonly environment: Readonly<Record<string, string>>;
  /** Kills the processes that run functions now, and returns their number. */
  readonly killFunctions: () => number;
  /** Makes the next call of this function start a process without a memory. */
  readonly forget: (name: string) => Promise<void>;
  /** The function that got these credentials, while a process of it runs. */
  readonly functionWith: (accessKeyId: string) => string | null;
  readonly close: () => Promise<void>;
}

/** A file about a process or thread. Empty if it has ended meanwhile. */
const about = (file: string): string => {
  try {
    return readFileSync(`/proc/${file}`, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return '';
    throw error;
  }
};

/** The children of all threads of a process on Linux: https://man7.org/linux/man-pages/man5/proc_pid_task.5.html */
const childrenOf = (pid: number): readonly number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    about(`${pid}/task/${thread}/children`)
      .split(' ')
      .map(Number)
      .filter((child) => child > 0),
  );

const wordsOf = (pid: number, file: 'cmdline' | 'environ'): readonly string[] => about(`${pid}/${file}`).split('\0');

const isNode = (pid: number): boolean => path.basename(wordsOf(pid, 'cmdline')[0] ?? '') === 'node';

/** The environment with which the process was started: https://man7.org/linux/man-pages/man5/proc_pid_environ.5.html */
const variableOf = (pid: number, name: string): string | null =>
  wordsOf(pid, 'environ')
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1) ?? null;

/**
 * Whether a process is gone, or only waits to be reaped: a zombie without other threads.
 * https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 */
const hasEnded = (pid: number): boolean =>
  /^$|\) Z /.test(about(`${pid}/stat`)) && !/^Threads:\s+(?!1$)/m.test(about(`${pid}/status`));

const nameOf = (pid: number): string | null => variableOf(pid, 'AWS_LAMBDA_FUNCTION_NAME');

/**
 * Starts ministack on a free local port. It runs functions with the Node.js of these tests. `auth` enforces the
 * policies of every role.
 */
export const startMinistack = async ({ auth = false } = {}): Promise<Ministack> => {
  if (!existsSync(program))
    throw new Error(`these tests need ministack, which is not at ${program}: install it with .ci/install-ministack`);
  const [[port], folder] = await Promise.all([freePorts(1), mkdtemp(path.join(tmpdir(), 'cloudfence-ministack-'))]);
  const settings = {
    BIND_HOST: '127.0.0.1',
    GATEWAY_PORT: String(port),
    MINISTACK_REGION: SANDBOX_REGION,
    TMPDIR: folder,
    HOME: folder,
    ...(auth && { AUTH: 'true' }),
  };
  const child = spawn(program, {
    env: { PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin`, ...settings },
    cwd: folder,
    stdio: 'ignore',
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} does not start`);
  // An address, not `localhost`: the SDK then requests buckets by path, and no resolver has to know
  // `<bucket>.localhost`.
  const url = `http://127.0.0.1:${port}`;
  const functions = (): readonly number[] => childrenOf(pid).filter(isNode);
  const kill = (those: readonly number[]): number => those.filter((one) => process.kill(one, 'SIGKILL')).length;
  const killFunctions = (): number => kill(functions());
  const forget = async (name: string): Promise<void> => {
    const those = functions().filter((one) => nameOf(one) === name);
    kill(those);
    await until(`no process of ${name} is left`, async () => those.every(hasEnded));
  };
  const functionWith = (accessKeyId: string): string | null =>
    functions()
      .filter((one) => variableOf(one, 'AWS_ACCESS_KEY_ID') === accessKeyId)
      .map(nameOf)[0] ?? null;
  const close = async (): Promise<void> => {
    killFunctions();
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
    await rm(folder, { recursive: true, maxRetries: 5 });
  };
  try {
    await until(`ministack answers at ${url}`, async () => (await fetch(`${url}/_ministack/health`)).ok);
  } catch (error) {
    await close();
    throw error;
  }
  const access = { AWS_ACCESS_KEY_ID: SANDBOX_ACCOUNT, AWS_SECRET_ACCESS_KEY: 'test', AWS_REGION: SANDBOX_REGION };
  return {
    url,
    environment: { AWS_ENDPOINT_URL: url, ...access, AWS_EC2_METADATA_DISABLED: 'true' },
    killFunctions,
    forget,
    functionWith,
    close,
  };
};
