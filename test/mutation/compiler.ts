import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Mutant } from './mutants.ts';

const run = promisify(execFile);
const TYPESCRIPT = resolve('node_modules/typescript/bin/tsc');
const COPIED = [
  'package.json',
  'tsconfig.json',
  'fencing',
  'diagnosis',
  'incidents',
  'providers',
  'kubernetes',
  'transport',
  'config',
  'app',
  'drill',
];

/** The shipped checks, except those that a mutant would break because it leaves something unused. */
const checks = {
  extends: './tsconfig.json',
  compilerOptions: {
    noUnusedLocals: false,
    noUnusedParameters: false,
    allowUnreachableCode: true,
    incremental: true,
    tsBuildInfoFile: './mutated.tsbuildinfo',
  },
};

/** Returns the errors of the compiler, one line for each. */
const faultsIn = async (folder: string): Promise<readonly string[]> => {
  try {
    await run(process.execPath, [TYPESCRIPT, '-p', 'mutated.json', '--pretty', 'false'], { cwd: folder, maxBuffer });
    return [];
  } catch (error) {
    // The compiler exits with 1 or 2 if it finds an error.
    if (error instanceof Error && 'stdout' in error && 'code' in error && (error.code === 1 || error.code === 2))
      return String(error.stdout).split('\n');
    throw error;
  }
};

const maxBuffer = 100_000_000;

const mutated = (text: string, { begins, ends, to }: Mutant): string => text.slice(0, begins) + to + text.slice(ends);

/** Returns the survivors whose own file compiles: all are compiled at once, each in a copy of its file next to it. */
const thoseWithoutOwnFault = async (survivors: readonly Mutant[], folder: string): Promise<readonly Mutant[]> => {
  const copies = survivors.map((survivor, at) => ({ survivor, file: survivor.file.replace(/ts$/, `mutant${at}.ts`) }));
  for (const { survivor, file } of copies)
    await writeFile(join(folder, file), mutated(await readFile(join(folder, survivor.file), 'utf8'), survivor));
  const faults = await faultsIn(folder);
  await Promise.all(copies.map(({ file }) => rm(join(folder, file))));
  return copies.filter(({ file }) => !faults.some((fault) => fault.startsWith(`${file}(`))).map((one) => one.survivor);
};

const compiles = async (survivor: Mutant, folder: string): Promise<boolean> => {
  const file = join(folder, survivor.file);
  const text = await readFile(file, 'utf8');
  await writeFile(file, mutated(text, survivor));
  const faults = await faultsIn(folder);
  await writeFile(file, text);
  return faults.length === 0;
};

/**
 * Returns the survivors that compile. A mutant that does not compile, such as a state that no type knows, cannot be
 * written by accident. Stryker's own checker does not work with this version of TypeScript.
 */
export const thoseThatCompile = async (survivors: readonly Mutant[]): Promise<readonly Mutant[]> => {
  if (survivors.length === 0) return [];
  const folder = await mkdtemp(join(tmpdir(), 'cloudfence-mutants-'));
  await Promise.all(COPIED.map((name) => cp(name, join(folder, name), { recursive: true })));
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  const include = [...new Set(survivors.map(({ file }) => `${file.split('/')[0]}/**/*.ts`))];
  await writeFile(join(folder, 'mutated.json'), JSON.stringify({ ...checks, include }));
  const own = await faultsIn(folder);
  if (own.length > 0) throw new Error(`the copy does not compile without a mutant either: ${own[0] ?? ''}`);
  const found: Mutant[] = [];
  for (const survivor of await thoseWithoutOwnFault(survivors, folder))
    if (await compiles(survivor, folder)) found.push(survivor);
  await rm(folder, { recursive: true });
  return found;
};
