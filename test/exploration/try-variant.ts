import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Edit, Variant } from './unsafe-variants.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const COPIED = ['fencing', 'kubernetes', 'providers', 'transport', 'test/exploration', 'package.json'];
const MOST_STATES = 1_500_000;

const withEdit = (text: string, { file, from, to }: Edit): string => {
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times: ${from}`);
  return parts.join(to);
};

/** Explores the variant in a copy of the code, and returns what the exploration prints. */
export const tryVariant = async (variant: Variant): Promise<string> => {
  const copy = await mkdtemp(join(tmpdir(), 'cloudfence-variant-'));
  try {
    await Promise.all(COPIED.map((path) => cp(join(root, path), join(copy, path), { recursive: true })));
    await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
    for (const edit of variant.edits) {
      const path = join(copy, edit.file);
      await writeFile(path, withEdit(await readFile(path, 'utf8'), edit));
    }
    return await explored(copy, variant.scenario);
  } finally {
    await rm(copy, { recursive: true });
  }
};

const explored = async (copy: string, scenario: string): Promise<string> => {
  const main = join(copy, 'test/exploration/main.ts');
  const args = [main, '--scenario', scenario, '--most', String(MOST_STATES)];
  try {
    return (await promisify(execFile)(process.execPath, args, { cwd: copy })).stdout;
  } catch (caught) {
    // A story ends the exploration with exit code 1.
    if (caught instanceof Error && 'stdout' in caught && typeof caught.stdout === 'string' && caught.stdout !== '')
      return caught.stdout;
    throw caught;
  }
};
