import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { buildFlags, goEnvironment, targets } from './recipe.ts';
import { buildKey, goVersion } from './toolchain.ts';

/** The one place where the bench reads the environment: ready-made binaries, or the user's cache. */
const readyMade = process.env['CLOUDFENCE_CONTROL_PLANE'];
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'cloudfence', 'control-plane');

export const readyMadeFolder: string | null = readyMade === undefined || readyMade === '' ? null : readyMade;

/** Where this tree's binaries are, or will be, in the user's cache. @throws NoToolchain */
export const cachedFolder = (): string => join(cache, buildKey(goVersion(), JSON.stringify([buildFlags, goEnvironment, targets])));

/** The folder of binaries to run. */
export const binaries = (): string => {
  const folder = readyMadeFolder ?? cachedFolder();
  if (!existsSync(folder)) throw new Error(`there is no control plane at ${folder}: run \`npm run bench:build\` first`);
  return folder;
};
