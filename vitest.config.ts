import { defineConfig } from 'vitest/config';

/** `unit` needs Node alone; `moto` needs the Python server that .ci/install-moto puts into a folder of its own. */
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: ['test/**/*.moto.test.ts', 'test/**/*.e2e.test.ts'], testTimeout: 60_000 } },
      { test: { name: 'moto', include: ['test/**/*.moto.test.ts'], testTimeout: 60_000, hookTimeout: 60_000 } },
    ],
  },
});
