import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { root } from './installed.ts';

/** Two releases of the checkout. The tests of the package read the first while the second is built. */
export interface Releases {
  readonly one: string;
  readonly two: Promise<string>;
  readonly remove: () => Promise<void>;
}

const madeIn = async (out: string): Promise<string> => {
  await promisify(execFile)(process.execPath, ['scripts/release.ts', '--out', out, '--made-at', '1790000000'], {
    cwd: root,
    maxBuffer: 1 << 24,
  });
  return out;
};

/** Both are built in `dist/`, so one ends before the other begins. */
const openReleases = async (): Promise<Releases> => {
  const work = await mkdtemp(path.join(tmpdir(), 'cloudfence-release-'));
  const one = await madeIn(path.join(work, 'one'));
  const two = madeIn(path.join(work, 'two'));
  // The test that needs it reports its failure.
  const settled = two.then(
    () => undefined,
    () => undefined,
  );
  return { one, two, remove: () => settled.then(() => rm(work, { recursive: true, force: true })) };
};

let opened: Promise<Releases> | null = null;

/** The tests of the package share them, because each takes half a minute. */
export const releases = (): Promise<Releases> => (opened ??= openReleases());
