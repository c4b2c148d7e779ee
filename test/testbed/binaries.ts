import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Component } from './recipe.ts';
import {
  buildFlags,
  goEnvironment,
  type KubernetesVersion,
  kubernetesVersions,
  modulesOf,
  targets,
  USUAL,
} from './recipe.ts';
import { buildKey, goVersion } from './toolchain.ts';

/** The only place where the testbed reads the environment: prebuilt binaries, or the cache of the user. */
const given = (variable: string): string | null => process.env[variable] || null;
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'cloudfence', 'control-plane');

export const readyMadeFolder: string | null = given('CLOUDFENCE_CONTROL_PLANE');

const isVersion = (text: string): text is KubernetesVersion => Object.hasOwn(kubernetesVersions, text);

const versionAsked = (): KubernetesVersion => {
  const asked = given('CLOUDFENCE_KUBERNETES') ?? USUAL;
  if (isVersion(asked)) return asked;
  throw new Error(
    `CLOUDFENCE_KUBERNETES is "${asked}": the testbed can be ${Object.keys(kubernetesVersions).toSorted().join(', ')}`,
  );
};

/** The version of Kubernetes that the testbed runs. */
export const kubernetesVersion: KubernetesVersion = versionAsked();

/**
 * A build of the AWS EBS CSI driver, which then attaches and detaches instead of the shim. Null if there is only the
 * shim.
 */
export const ebsDriver: string | null = given('CLOUDFENCE_EBS_CSI_DRIVER');

/**
 * Where this tree's binaries are, or will be, in the user's cache.
 * @throws NoToolchain
 */
export const cachedFolder = (): string =>
  join(
    cache,
    buildKey(
      goVersion(),
      JSON.stringify([buildFlags(kubernetesVersion), goEnvironment, targets]),
      modulesOf(kubernetesVersion),
    ),
  );

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
