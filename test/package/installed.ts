import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The package as a newcomer has it: installed from a release, without a network, into its own folder. */

export const root = fileURLToPath(new URL('../..', import.meta.url));

const run = promisify(execFile);

/** No checkout, settings, or packages of the person who runs the tests: PATH has Node and npm, HOME is empty. */
const strangersEnvironment = (home: string): NodeJS.ProcessEnv => ({
  PATH: [path.dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(path.delimiter),
  HOME: home,
  npm_config_cache: path.join(home, 'npm'),
  npm_config_update_notifier: 'false',
});

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Installed {
  readonly tarball: string;
  readonly bytes: number;
  readonly files: readonly string[];
  /** The folder in which it is installed. */
  readonly folder: string;
  readonly run: (command: string, ...args: readonly string[]) => Ran;
}

const filesOf = async (tarball: string): Promise<readonly string[]> =>
  (await run('tar', ['-tzf', tarball], { maxBuffer: 1 << 24 })).stdout
    .trim()
    .split('\n')
    .map((file) => file.replace(/^package\//, ''));

export const installed = async (tarball: string): Promise<Installed> => {
  const work = await mkdtemp(path.join(tmpdir(), 'cloudfence-package-'));
  const [folder, home] = [path.join(work, 'stranger'), path.join(work, 'home')];
  await Promise.all([mkdir(folder), mkdir(home)]);
  await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }\n');
  const files = await filesOf(tarball);
  const runThere = (command: string, ...args: readonly string[]): Ran => {
    const { status, stdout, stderr } = spawnSync(command, args, {
      cwd: folder,
      env: strangersEnvironment(home),
      encoding: 'utf8',
    });
    return { code: status, stdout, stderr };
  };
  const { code, stderr } = runThere(
    'npm',
    'install',
    '--offline',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    tarball,
  );
  if (code !== 0) throw new Error(`the package cannot be installed: ${stderr}`);
  return { tarball, bytes: (await stat(tarball)).size, files, folder, run: runThere };
};

/** Names of the clouds that the installed package exports. */
export const cloudsOf = async ({ folder }: Installed): Promise<readonly string[]> =>
  (await readdir(path.join(folder, 'node_modules/cloudfence/dist/lib/providers')))
    .filter((file) => file.endsWith('.mjs'))
    .map((file) => path.basename(file, '.mjs'));
