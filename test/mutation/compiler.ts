import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Survivor } from './survivors.ts';

const run = promisify(execFile);
const TYPESCRIPT = resolve('node_modules/typescript/bin/tsc');
const COPIED = ['package.json', 'tsconfig.json', 'fencing', 'providers', 'kubernetes', 'config'];

/** The shipped checks, except those that a mutant would break by leaving something unused. */
const checks = {
  extends: './tsconfig.json',
  compilerOptions: { noUnusedLocals: false, noUnusedParameters: false, allowUnreachableCode: true },
  include: ['fencing/**/*.ts'],
};

const compiles = async (folder: string): Promise<boolean> => {
  try {
    await run(process.execPath, [TYPESCRIPT, '-p', 'mutated.json'], { cwd: folder });
    return true;
  } catch (error) {
    // The compiler ends with 1 or 2 if it finds a fault.
    if (error instanceof Error && 'code' in error && (error.code === 1 || error.code === 2)) return false;
    throw error;
  }
};

/**
 * Returns the survivors that compile. A mutant that does not compile, such as a state that no type knows, cannot be
 * written by accident. Stryker's own checker does not work with this version of TypeScript.
 */
export const thoseThatCompile = async (survivors: readonly Survivor[]): Promise<readonly Survivor[]> => {
  if (survivors.length === 0) return [];
  const folder = await mkdtemp(join(tmpdir(), 'cloudfence-mutants-'));
  await Promise.all(COPIED.map((name) => cp(name, join(folder, name), { recursive: true })));
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  const include = [...new Set(survivors.map(({ file }) => `${file.split('/')[0]}/**/*.ts`))];
  await writeFile(join(folder, 'mutated.json'), JSON.stringify({ ...checks, include }));
  const found: Survivor[] = [];
  for (const survivor of survivors) {
    const file = join(folder, survivor.file);
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.slice(0, survivor.begins) + survivor.to + text.slice(survivor.ends));
    if (await compiles(folder)) found.push(survivor);
    await writeFile(file, text);
  }
  await rm(folder, { recursive: true });
  return found;
};
