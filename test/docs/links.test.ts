import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** Checks what the documents name: links, headings, paths, npm scripts, and commands of the CLI. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

const documents = ['*.md', 'docs/**/*.md'].flatMap((pattern) => globSync(pattern, { cwd: root })).sort();

const BLOCK = /^ *(`{3,})[^\n]*\n([\s\S]*?)^ *\1 *$/gm;
const SPAN = /(?<!`)`([^`\n]+)`(?!`)/g;

interface Document {
  readonly prose: string;
  /** The text of each block and each span of code. */
  readonly code: readonly string[];
}

const parse = (text: string): Document => {
  const prose = text.replaceAll(BLOCK, '');
  const blocks = [...text.matchAll(BLOCK)].map(([, , block = '']) => block);
  return { prose, code: [...blocks, ...[...prose.matchAll(SPAN)].map(([, span = '']) => span)] };
};

/** The anchor that GitHub gives to a heading. */
const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const anchorsIn = (file: string): readonly string[] =>
  [...parse(read(file)).prose.matchAll(/^#+ +(.+?) *$/gm)].map(([, heading = '']) => anchorOf(heading));

const isBroken = (file: string, target: string): boolean => {
  const [relative = '', anchor = ''] = target.split('#');
  const to = relative === '' ? file : path.join(path.dirname(file), relative);
  if (!existsSync(path.join(root, to))) return true;
  return anchor !== '' && to.endsWith('.md') && !anchorsIn(to).includes(anchor);
};

const linksIn = ({ prose }: Document): readonly string[] =>
  [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target).filter((target) => !/^[a-z]+:/.test(target));

const foldersAt = (...patterns: readonly string[]): ReadonlySet<string> =>
  new Set(globSync([...patterns], { cwd: root }).map((folder) => path.basename(folder)));

/** A path starts with a folder of the project. */
const folders = foldersAt('*/', '.*/');

/** The table of guards names files of a suite for short, such as `scenarios/fence`. */
const foldersFor = (file: string): ReadonlySet<string> =>
  file === 'docs/guards.md' ? new Set([...folders, ...foldersAt('test/*/*/')]) : folders;

/** The result of a build, of a release, or of a person's command is not in the tree. */
const MADE = ['dist/', 'node_modules/', 'stages/', 'bin/'];

const PATH = /^[\w.*<>…-]+(?:\/[\w.*<>…-]+)+\/?$/;

const pathsIn = ({ code }: Document, within: ReadonlySet<string> = folders): readonly string[] => {
  const words = code.flatMap((text) => text.split(/[\s"'=,:;()]+/));
  return words.filter(
    (word) =>
      PATH.test(word) && within.has(word.split('/')[0] ?? '') && !MADE.some((folder) => word.startsWith(folder)),
  );
};

/**
 * Matches patterns such as `providers/<cloud>/power.ts` and `infra/*.yml`, and names without the ending such as
 * `test/fencing/decide-proof`.
 */
const isMissing = (named: string): boolean => {
  if (existsSync(path.join(root, named))) return false;
  const pattern = named.replaceAll(/<[^>]*>|…/g, '*').replace(/\/$/, '');
  const names = [pattern, `${pattern}.*`];
  return globSync([...names, ...names.map((name) => `test/*/${name}`)], { cwd: root }).length === 0;
};

const scripts = ((manifest: unknown): readonly string[] =>
  typeof manifest === 'object' && manifest !== null && 'scripts' in manifest
    ? Object.keys(manifest.scripts ?? {})
    : [])(JSON.parse(read('package.json')));

const scriptsIn = ({ code }: Document): readonly string[] =>
  code.flatMap((text) => [...text.matchAll(/\bnpm run (?:-s |--silent )?([\w:-]+)/g)]).map(([, script = '']) => script);

const help = execFileSync(process.execPath, ['cli/main.ts', '--help'], { cwd: root, encoding: 'utf8' });
const commands = [...help.slice(help.indexOf('Commands:')).matchAll(/^ {2}([a-z]+)\b/gm)].map(
  ([, command = '']) => command,
);

const commandsIn = ({ code }: Document): readonly string[] =>
  code
    .flatMap((text) => [...text.matchAll(/(?:^|npx |kubectl |[;&|] *)cloudfence ([a-z]+)\b/gm)])
    .map(([, command = '']) => command);

describe('the checks themselves', () => {
  it('find what they check', () => {
    const all = documents.map((file) => parse(read(file)));
    expect(documents).toContain('docs/runbook.md');
    expect(commands).toContain('doctor');
    for (const find of [linksIn, pathsIn, scriptsIn, commandsIn])
      expect(all.flatMap((document) => find(document)).length).toBeGreaterThan(10);
  });

  it('tell paths that exist from paths that do not', () => {
    expect(isBroken('docs/cli.md', 'runbook.md#many-machines-at-once')).toBe(false);
    expect(isBroken('docs/cli.md', 'runbook.md#no-such-heading')).toBe(true);
    expect(isBroken('docs/cli.md', 'no-such-page.md')).toBe(true);
    expect(isMissing('providers/<cloud>/plugin/open.ts')).toBe(false);
    expect(isMissing('providers/<cloud>/no-such-file.ts')).toBe(true);
  });
});

/**
 * A changelog uses the names that files had at that time. The installation page names files of a release, and the test
 * of the release checks them.
 */
const elsewhere = ['CHANGELOG.md', 'docs/install.md'];

describe.each(documents)('%s', (file) => {
  const document = parse(read(file));
  it('links to files and headings that exist', () =>
    expect(linksIn(document).filter((target) => isBroken(file, target))).toEqual([]));
  it('names npm scripts that exist', () =>
    expect(scriptsIn(document).filter((script) => !scripts.includes(script))).toEqual([]));
  it('names commands that the CLI has', () =>
    expect(commandsIn(document).filter((command) => !commands.includes(command))).toEqual([]));
  it.skipIf(elsewhere.includes(file))('names paths that exist', () =>
    expect(pathsIn(document, foldersFor(file)).filter(isMissing)).toEqual([]),
  );
});
