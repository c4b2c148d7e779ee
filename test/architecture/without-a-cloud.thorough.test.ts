import { execFile } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyWithout, type WithoutCloud } from './take-out.ts';
import { cloudsOnThePage } from './the-page.ts';

/** Removes each cloud as docs/clouds.md says. The rest must still work. */

const root = fileURLToPath(new URL('../..', import.meta.url));
/** On a busy machine (ms). */
const LONG = 600_000;
/** Someone may have removed a cloud permanently. */
const here = cloudsOnThePage(root).filter(({ words }) =>
  words.some((word) => existsSync(path.join(root, 'providers', word))),
);

/**
 * Tests of the places where the clouds meet: where they are distinguished, read, opened, packaged, and played. Includes
 * the contracts of the remaining clouds.
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
    without = copyWithout(root, words);
  });
  afterAll(() => rmSync(without.folder, { recursive: true, force: true }));

  it('loses only the tests of that cloud', () => {
    expect(without.alongside.filter((file) => !playedOnIt.some((folder) => file.startsWith(`${folder}/`)))).toEqual([]);
  });

  it('the rest still compiles', async () => expect(await said('tsc', ['-p', '.'], without.folder)).toBe(''));

  it(
    'the rest still works where the clouds meet',
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
