import { defineConfig } from 'vitest/config';

/**
 * `unit` needs Node alone; `moto` needs the Python server that .ci/install-moto puts into a folder of its own, `deploy`
 * the one of .ci/install-ministack, `discovery` the document of .ci/install-google-discovery, `go` the Go toolchain; `e2e` needs moto's and the
 * control plane that `npm run bench:build` makes. The last two live in real time on a machine that may be busy: a test that
 * fails there is tried once more, and the report says so.
 * `e2e-slow` waits for Kubernetes' own timers of up to six minutes.
 */
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: ['test/**/*.moto.test.ts', 'test/**/*.e2e.test.ts', 'test/**/*.deploy.test.ts', 'test/**/*.slow.test.ts', 'test/**/*.discovery.test.ts', 'test/**/*.go.test.ts'], testTimeout: 60_000 } },
      { test: { name: 'moto', include: ['test/**/*.moto.test.ts'], testTimeout: 60_000, hookTimeout: 60_000 } },
      { test: { name: 'discovery', include: ['test/**/*.discovery.test.ts', 'test/**/*.go.test.ts'], testTimeout: 60_000, hookTimeout: 60_000 } },
      { test: { name: 'go', include: ['test/**/*.go.test.ts'], testTimeout: 60_000, hookTimeout: 600_000 } },
      { test: { name: 'deploy', include: ['test/deploy/**/*.deploy.test.ts'], fileParallelism: false, testTimeout: 60_000, hookTimeout: 120_000, retry: 1 } },
      { test: { name: 'e2e', include: ['test/control-plane/**/*.e2e.test.ts'], globalSetup: ['test/control-plane/bench-setup.ts'], testTimeout: 240_000, hookTimeout: 120_000, retry: 1 } },
      { test: { name: 'e2e-slow', include: ['test/control-plane/**/*.slow.test.ts'], globalSetup: ['test/control-plane/bench-setup.ts'], testTimeout: 900_000, hookTimeout: 120_000 } },
    ],
  },
});
