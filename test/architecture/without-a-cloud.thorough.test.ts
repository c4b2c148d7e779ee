import { execFile } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyWithout, type WithoutCloud } from './take-out.ts';
import { pageIn } from './the-page.ts';

/** Each cloud is taken out as docs/clouds.md says, and the rest must not miss it. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = pageIn(root);
/** On a machine that is busy with other things (ms). */
const LONG = 600_000;
/** Somebody may have taken one out for good. */
const here = page.clouds.filter(({ words }) => words.some((word) => existsSync(path.join(root, 'providers', word))));

/**
 * Where the clouds meet: they are told apart, read, opened, packaged and played there; and the contract of those that
 * stay.
 */
const MEETINGS = [
  'architecture/directions',
  'config/',
  'functions/any-event',
  'functions/doctor',
  'infra/aws/parameters',
  'cli/demo-command-line',
  'contract/provider/sandbox-',
].map((name) => `test/${name}`);

const said = (program: string, args: readonly string[], folder: string): Promise<string> =>
  new Promise((resolve) => {
    const run = execFile(
      path.join(root, 'node_modules/.bin', program),
      [...args],
      { cwd: folder, encoding: 'utf8' },
      (error, stdout, stderr) => resolve(error ? `${stdout}${stderr}` : ''),
    );
    run.stdin?.end();
  });

it('the configuration page lists a cloud that exists', () => expect(here).not.toEqual([]));

describe.each(here)('without $name', ({ words, playedOnIt }) => {
  let without: WithoutCloud;
  beforeAll(() => {
    without = copyWithout(root, words, page);
  });
  afterAll(() => rmSync(without.folder, { recursive: true, force: true }));

  it('no test is lost except its own', () => {
    expect(without.alongside.filter((file) => !playedOnIt.some((folder) => file.startsWith(`${folder}/`)))).toEqual([]);
  });

  it('everything else compiles', async () => expect(await said('tsc', ['-p', '.'], without.folder)).toBe(''));

  it(
    'everything else works as before where the clouds meet',
    async () => {
      expect(
        await said(
          'vitest',
          [
            'run',
            '--project',
            'unit',
            '--project',
            'thorough',
            '--maxWorkers',
            '1',
            '--no-isolate',
            '--reporter',
            'dot',
            ...MEETINGS,
          ],
          without.folder,
        ),
      ).toBe('');
    },
    LONG,
  );
});
