import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Removes a cloud from a copy of the tree, as docs/clouds.md describes for a person. */

const NO_SOURCE: ReadonlySet<string> = new Set(['node_modules', 'dist', '.git', '.serverless']);

const copyOf = (root: string): string => {
  const copy = mkdtempSync(path.join(tmpdir(), 'cloudfence-'));
  cpSync(root, copy, { recursive: true, filter: (source) => !NO_SOURCE.has(path.relative(root, source)) });
  return copy;
};

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));

const belongsTo = (words: readonly string[], file: string): boolean =>
  file.split(/[/.-]/).some((part) => words.includes(part));

/** The only list of clouds. */
const LIST = 'app/clouds.ts';
/** Matches a line such as `azure: async () => (await import(…)).azure,`. */
const REGISTRATION = /^\s+\w+: async \(\) => .*import\('([^']+)'\).*,$/;

/** Removes the cloud's line from the list. */
const strike = (file: string, words: readonly string[]): void => {
  const lines = readFileSync(file, 'utf8').split('\n');
  writeFileSync(file, lines.filter((line) => !belongsTo(words, REGISTRATION.exec(line)?.[1] ?? '')).join('\n'));
};

const IMPORTED = /(?:from|import\(?)\s*'(\.{1,2}\/[^']+\.ts)'/g;

const importsIn = (folder: string, file: string): readonly string[] =>
  [...readFileSync(path.join(folder, file), 'utf8').matchAll(IMPORTED)].map(([, to = '']) =>
    path.join(path.dirname(file), to),
  );

/** Returns the tests that import what is gone, and the files that import those tests. */
const orphaned = (folder: string, left: ReadonlySet<string>): readonly string[] => {
  const tests = [...left].filter((file) => file.startsWith('test/') && file.endsWith('.ts'));
  const lost = tests.filter((file) => importsIn(folder, file).some((to) => !left.has(to)));
  return lost.length === 0
    ? []
    : [...lost, ...orphaned(folder, new Set([...left].filter((file) => !lost.includes(file))))];
};

export interface WithoutCloud {
  readonly folder: string;
  /** Test files that belong to the cloud although their names do not say so. */
  readonly alongside: readonly string[];
}

/** The installed packages are linked last, so that nothing in this function can reach them. */
export const copyWithout = (root: string, words: readonly string[]): WithoutCloud => {
  const folder = copyOf(root);
  const remove = (files: readonly string[]): void => files.forEach((file) => rmSync(path.join(folder, file)));
  const files = filesIn(folder);
  remove(files.filter((file) => belongsTo(words, file)));
  strike(path.join(folder, LIST), words);
  const alongside = orphaned(folder, new Set(files.filter((file) => !belongsTo(words, file))));
  remove(alongside);
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  return { folder, alongside };
};
