import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { thoseThatCompile } from './compiler.ts';
import type { Instrumented, Mutant } from './mutants.ts';

/** What the tests found out about the mutants, by their IDs. */
export interface Verdicts {
  readonly killed: ReadonlySet<string>;
  /** Those among `killed` with which a test never ended. */
  readonly endless: ReadonlySet<string>;
  /** The others that compile. */
  readonly alive: readonly Mutant[];
  /** Tests that fail without a mutant, too, so they judge none. */
  readonly failing: readonly string[];
}

/** A test that has tried a mutant for so long is stuck in it. */
const STUCK_MS = 30_000;
/** Without a mutant, tests may take longer: they start on a machine that may be busy. */
const STARTING_MS = 600_000;
const WATCH_MS = 1_000;

const VITEST = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/mutation/vitest.config.ts'];

interface Log {
  readonly tries: readonly string[];
  readonly killed: readonly string[];
  readonly static: readonly string[];
  readonly fails: readonly string[];
  /** How many tests ran. */
  readonly tests: number;
}

const readLog = async (path: string): Promise<Log> => {
  const lines = (await readFile(path, 'utf8')).split('\n');
  const after = (what: string): readonly string[] =>
    lines.filter((line) => line.startsWith(`${what} `)).map((line) => line.slice(what.length + 1));
  const ids = (what: string): readonly string[] => after(what).flatMap((text) => text.split(',').filter(Boolean));
  return {
    tries: ids('tries'),
    killed: ids('killed'),
    static: [...new Set(ids('static'))],
    fails: after('fails'),
    tests: after('done').length,
  };
};

const isStuck = async (log: string): Promise<boolean> => {
  const quietFor = Date.now() - (await stat(log)).mtimeMs;
  if (quietFor < STUCK_MS) return false;
  const last = (await readFile(log, 'utf8')).trimEnd().split('\n').at(-1) ?? '';
  return last.startsWith('tries ') || quietFor >= STARTING_MS;
};

/** Runs the tests, and returns false if they had to be ended because one was stuck. */
const runToTheEnd = async (env: NodeJS.ProcessEnv, log: string): Promise<boolean> => {
  const child = spawn(process.execPath, VITEST, { env, stdio: 'ignore', detached: true });
  const ended = once(child, 'exit');
  for (;;) {
    const running = await Promise.race([ended.then(() => false), sleep(WATCH_MS, true)]);
    if (!running) return true;
    if (!(await isStuck(log)) || child.pid === undefined) continue;
    process.kill(-child.pid, 'SIGKILL');
    await ended;
    return false;
  }
};

const failsWith = async (mutant: string, env: NodeJS.ProcessEnv): Promise<boolean> => {
  const child = spawn(process.execPath, [...VITEST, '--bail', '1'], {
    env: { ...env, __STRYKER_ACTIVE_MUTANT__: mutant },
    stdio: 'ignore',
    timeout: STUCK_MS,
    killSignal: 'SIGKILL',
  });
  await once(child, 'exit');
  return child.exitCode !== 0;
};

const writeMutated = async (path: string, text: string): Promise<void> => {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
};

/** Runs the tests in one process after the other, until all have run. Each process goes on where the last one stuck. */
const tryAll = async (ids: readonly string[], env: NodeJS.ProcessEnv, log: string): Promise<Set<string>> => {
  const endless = new Set<string>();
  for (;;) {
    const { killed, tries } = await readLog(log);
    const alive = ids.filter((id) => !killed.includes(id) && !endless.has(id));
    await appendFile(log, 'starts\n');
    const inOne = { CLOUDFENCE_MUTANTS_LOG: log, CLOUDFENCE_MUTANTS_ALIVE: alive.join(',') };
    if (await runToTheEnd({ ...env, ...inOne }, log)) return endless;
    const stuck = (await readLog(log)).tries.at(-1);
    if (stuck === undefined || stuck === tries.at(-1)) throw new Error('the tests are stuck without a mutant');
    endless.add(stuck);
  }
};

/**
 * Runs the tests with each mutant, all in one process: starting the tests takes longer than running them. Mutants of
 * code that runs once, when its module is loaded, get a process of their own.
 */
export const verdictsOf = async ({ mutants, code }: Instrumented, tests: readonly string[]): Promise<Verdicts> => {
  const folder = await mkdtemp(join(tmpdir(), 'cloudfence-mutants-'));
  const log = join(folder, 'log');
  await writeFile(log, '');
  for (const [file, text] of Object.entries(code)) await writeMutated(join(folder, file), text);
  const env = { ...process.env, CLOUDFENCE_MUTATION_TESTS: tests.join(' '), CLOUDFENCE_MUTANTS_CODE: folder };
  const ids = mutants.map(({ id }) => id);
  const endless = await tryAll(ids, env, log);
  const found = await readLog(log);
  if (found.tests === 0) throw new Error(`no test ran: ${tests.join(' ')}`);
  const killed = new Set([...found.killed, ...endless]);
  const compiling = await thoseThatCompile(mutants.filter(({ id }) => !killed.has(id)));
  for (const { id } of compiling) if (found.static.includes(id) && (await failsWith(id, env))) killed.add(id);
  await rm(folder, { recursive: true });
  return { killed, endless, alive: compiling.filter(({ id }) => !killed.has(id)), failing: [...new Set(found.fails)] };
};
