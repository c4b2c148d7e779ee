import { spawnSync } from 'node:child_process';
import { kubernetesVersions, USUAL } from './recipe.ts';

/**
 * `npm run e2e:versions`: runs the scenarios, the contract of a cluster, and a drill on the older control planes, one
 * after the other. Arguments select versions (`-- 1.30`).
 */

const FILES = ['test/control-plane/scenarios', 'test/control-plane/contract', 'test/control-plane/drill'];

const older = Object.keys(kubernetesVersions).filter((version) => version !== USUAL);

const run = (command: string, args: readonly string[], version: string): boolean => {
  const env = { ...process.env, CLOUDFENCE_KUBERNETES: version };
  return spawnSync(command, args, { env, stdio: 'inherit' }).status === 0;
};

const passes = (version: string): boolean => {
  console.log(`Kubernetes ${version}`);
  return (
    run('npm', ['run', '--silent', 'testbed:build'], version) &&
    run('npm', ['exec', '--', 'vitest', 'run', '--project', 'e2e', ...FILES], version)
  );
};

const asked = process.argv.slice(2);
const failed = (asked.length > 0 ? asked : older).filter((version) => !passes(version));
if (failed.length > 0) {
  console.error(`not everything passes on Kubernetes ${failed.join(' and ')}`);
  process.exitCode = 1;
}
