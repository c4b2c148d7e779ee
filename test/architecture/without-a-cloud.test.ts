import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';

/** A cloud can be taken out: its files by their names, and one line wherever clouds are listed. The rest must not miss it. */

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Beside what is no source: the bench's list of what to measure, which names the packages of all clouds. */
const LEFT_OUT: ReadonlySet<string> = new Set(['node_modules', 'dist', '.git', '.serverless', 'test/bench/main.ts']);

let copy = '';
afterEach(() => rmSync(copy, { recursive: true, force: true }));

const copyOfTheTree = (): string => {
  copy = mkdtempSync(path.join(tmpdir(), 'cloudfence-'));
  cpSync(root, copy, { recursive: true, filter: (source) => !LEFT_OUT.has(path.relative(root, source)) });
  symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  return copy;
};

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.parentPath.includes('node_modules'))
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));

/** Some folder on the way, or a word of the file's own name, is the cloud's. */
const belongsTo = (words: readonly string[], file: string): boolean => file.split(/[/.-]/).some((part) => words.includes(part));

/** A line of a list, such as `azure: async () => (await import('./register-azure.ts')).azure,`. */
const REGISTRATION = /^\s+\w+: async \(\) => .*import\('([^']+)'\).*,$/;

const takeOut = (folder: string, words: readonly string[]): readonly string[] => {
  const files = filesIn(folder);
  for (const file of files.filter((one) => belongsTo(words, one))) rmSync(path.join(folder, file));
  const left = files.filter((one) => !belongsTo(words, one));
  return left.flatMap((file) => {
    const lines = readFileSync(path.join(folder, file), 'utf8').split('\n');
    const kept = lines.filter((line) => !belongsTo(words, REGISTRATION.exec(line)?.[1] ?? ''));
    if (kept.length === lines.length) return [];
    writeFileSync(path.join(folder, file), kept.join('\n'));
    return [`${file}: ${lines.length - kept.length}`];
  });
};

it.each([
  ['Azure', ['azure', 'arm']],
  ['Google Cloud', ['gcp', 'gce', 'discovery']],
])('%s leaves no gap behind', (_, words) => {
  const folder = copyOfTheTree();
  expect(takeOut(folder, words).toSorted()).toEqual(['cli/demo/stages.ts: 1', 'infra/serverless/clouds.ts: 1', 'wiring/clouds.ts: 1']);
  const { stdout, status } = spawnSync(path.join(root, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' });
  expect([stdout, status]).toEqual(['', 0]);
});
