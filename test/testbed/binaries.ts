import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Component } from './recipe.ts';
import { buildFlags, goEnvironment, targets } from './recipe.ts';
import { buildKey, goVersion } from './toolchain.ts';

/** The one place where the testbed reads the environment: prebuilt binaries, or the user's cache. */
const given = (variable: string): string | null => process.env[variable] || null;
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'cloudfence', 'control-plane');

export const readyMadeFolder: string | null = given('CLOUDFENCE_CONTROL_PLANE');

/**
 * A build of the AWS EBS CSI driver, which then attaches and detaches in place of the shim. Null for the shim alone.
 */
export const ebsDriver: string | null = given('CLOUDFENCE_EBS_CSI_DRIVER');

/**
 * Where this tree's binaries are, or will be, in the user's cache.
 * @throws NoToolchain
 */
export const cachedFolder = (): string =>
  join(cache, buildKey(goVersion(), JSON.stringify([buildFlags, goEnvironment, targets])));

/** The folder of binaries to run. */
export const binaries = (): string => {
  const folder = readyMadeFolder ?? cachedFolder();
  if (!existsSync(folder))
    throw new Error(`there is no control plane at ${folder}: run \`npm run testbed:build\` first`);
  return folder;
};

/** Path of a component's binary. */
export const binaryOf = (name: Component): string =>
  name === 'ebs-csi-driver' ? (ebsDriver ?? '') : join(binaries(), name);
