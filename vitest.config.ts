import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/longest-first.ts';

/**
 * What each project needs besides Node:
 * - `moto`: the Python server that .ci/install-moto installs
 * - `deploy`: the one of .ci/install-ministack
 * - `browser`: the Chromium of .ci/install-chromium
 * - `package`: npm and Git; builds and packs the checkout itself
 * - `thorough`: nothing; it compiles whole trees, starts `serverless`, and takes every case of the searches of which
 * `unit`
 *   takes some
 * - `judges`: what the clouds' vendors publish: Google's documents of .ci/install-google-discovery, Go for Microsoft's
 *   server, Azure's interfaces of .ci/install-azure-models, the checkov of .ci/install-checkov, and the helm of
 *   .ci/install-helm
 * - `e2e`, `differential`, `e2e-slow`: moto's, and the control plane that `npm run testbed:build` makes; `e2e-slow`
 * waits for
 *   Kubernetes' own timers
 *
 * The files of a worker share its process and what it has loaded (`isolate: false`), because loading modules took half
 * of the time. So a test gives back whatever it changes outside its file, such as `process.env`, and closes what it
 * opens.
 *
 * The `e2e` ones live in real time on a machine that may be busy: a test that fails there is tried up to twice more,
 * and the report says so. They wait for most of their time, so more of them run at once than the machine has cores.
 */
const elsewhere = ['moto', 'e2e', 'deploy', 'slow', 'judge', 'thorough', 'browser'].map(
  (kind) => `test/**/*.${kind}.test.ts`,
);
const inPackage = 'test/package/*.test.ts';
const onControlPlane = {
  isolate: false,
  globalSetup: ['test/testbed/setup.ts'],
  hookTimeout: 120_000,
  maxWorkers: 4 * availableParallelism(),
  sequence: { groupOrder: 2 },
  maxConcurrency: 10,
};

/** Their searches take every case in `thorough`, and some in `unit`. */
const searches = ['fencing/decide-always', 'simulation/{killed,stale,together,frozen}'].map(
  (name) => `test/${name}.test.ts`,
);

/** Each process, or each file, loads the same libraries again: Node keeps what it has compiled of them. */
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/tests', import.meta.url));

/** Left to itself, the test runner keeps one core free. */
const onAllCores = { maxWorkers: availableParallelism(), isolate: false };

/** Their tests also wait for other programs, so more of them run than the machine has cores. */
const besideOthers = { ...onAllCores, maxWorkers: 2 * availableParallelism(), sequence: { groupOrder: 1 } };

/** Compares times with the sandbox's, so nothing else runs next to it. */
const sideBySide = 'test/control-plane/differential/*.e2e.test.ts';

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...elsewhere, inPackage],
          testTimeout: 180_000,
          provide: { thorough: false },
          ...onAllCores,
        },
      },
      {
        test: {
          name: 'thorough',
          include: ['test/**/*.thorough.test.ts', ...searches],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          provide: { thorough: true },
          ...besideOthers,
        },
      },
      {
        test: {
          name: 'package',
          include: [inPackage],
          testTimeout: 180_000,
          hookTimeout: 1_200_000,
          ...besideOthers,
        },
      },
      {
        test: {
          name: 'browser',
          include: ['test/**/*.browser.test.ts'],
          testTimeout: 30_000,
          hookTimeout: 120_000,
          ...besideOthers,
        },
      },
      {
        test: {
          name: 'moto',
          include: ['test/**/*.moto.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          ...besideOthers,
        },
      },
      {
        test: {
          name: 'judges',
          include: ['test/**/*.judge.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 600_000,
          ...besideOthers,
        },
      },
      {
        test: {
          name: 'deploy',
          include: ['test/deploy/**/*.deploy.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          retry: 1,
          ...besideOthers,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/{control-plane,testbed}/**/*.e2e.test.ts'],
          exclude: [sideBySide],
          testTimeout: 240_000,
          retry: 2,
          ...onControlPlane,
        },
      },
      { test: { name: 'differential', include: [sideBySide], testTimeout: 240_000, retry: 3, ...onControlPlane } },
      {
        test: {
          name: 'e2e-slow',
          include: ['test/control-plane/**/*.slow.test.ts'],
          testTimeout: 900_000,
          ...onControlPlane,
        },
      },
    ],
  },
});
