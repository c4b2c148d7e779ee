import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cachedFolder, ebsDriver, kubernetesVersion, readyMadeFolder } from './binaries.ts';
import { buildFlags, components, goEnvironment, modulesFor, targets } from './recipe.ts';
import { NoToolchain, modulePath } from './toolchain.ts';

/** `npm run testbed:build`: builds the control plane's binaries from their Go modules into the user's cache. */

const buildInto = (folder: string): void => {
  for (const [name, source] of Object.entries(targets)) {
    console.log(`building ${name} …`);
    const flags = buildFlags(modulesFor(name, kubernetesVersion));
    const options = { cwd: modulePath, env: { ...process.env, ...goEnvironment }, stdio: 'inherit' } as const;
    const { status } = spawnSync('go', ['build', ...flags, '-o', join(folder, name), source], options);
    if (status !== 0) throw new Error(`${name} could not be built`);
  }
  for (const name of components) symlinkSync('controlplane', join(folder, name));
};

/**
 * Built in another folder and renamed, so that a folder with its final name is always complete, even if another process
 * builds it at the same time.
 */
const build = (folder: string): void => {
  const beside = `${folder}.${process.pid}`;
  mkdirSync(beside, { recursive: true });
  try {
    buildInto(beside);
    if (!existsSync(folder)) renameSync(beside, folder);
  } finally {
    rmSync(beside, { recursive: true, force: true });
  }
};

const main = (): void => {
  const folder = readyMadeFolder ?? cachedFolder();
  if (readyMadeFolder !== null && !existsSync(folder))
    throw new Error(`CLOUDFENCE_CONTROL_PLANE names ${folder}, which is not there`);
  if (ebsDriver !== null && !existsSync(ebsDriver))
    throw new Error(`CLOUDFENCE_EBS_CSI_DRIVER names ${ebsDriver}, which is not there`);
  if (!existsSync(folder)) {
    console.log(`the control plane is not in ${dirname(folder)} yet; a first build takes up to ten minutes`);
    build(folder);
  }
  console.log(folder);
};

try {
  main();
} catch (error) {
  if (!(error instanceof Error)) throw error;
  const missing = `the e2e tests need Go 1.26 or newer to build a Kubernetes control plane (${error.message}): get it from https://go.dev/dl/, or name a folder of ready-made binaries in CLOUDFENCE_CONTROL_PLANE.`;
  console.error(error instanceof NoToolchain ? missing : error.message);
  process.exitCode = 1;
}
