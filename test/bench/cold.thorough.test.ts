import { expect, it } from 'vitest';
import { benchedClouds, loadBenched } from './clouds.ts';
import { coldStart } from './cold.ts';

/**
 * Modules of Node.js that are loaded only by a property of another module, or by a global. Google's library needs
 * `Headers`, and therefore undici.
 */
const UNUSED = [
  'internal/deps/undici/undici',
  'internal/util/parse_args/parse_args',
  'internal/util/trace_sigint',
  'http2',
];
const needed: Readonly<Record<string, readonly string[]>> = { gcp: ['internal/deps/undici/undici', 'http2'] };

/**
 * The most that a packaged function may load before its first call is sent. Lower a number when it needs less. `npm run
 * bench -- --cold` measures the times.
 */
const most: Readonly<Record<string, { readonly files: number; readonly bytes: number }>> = {
  aws: { files: 26, bytes: 484_000 },
  azure: { files: 26, bytes: 924_000 },
  gcp: { files: 22, bytes: 1_041_000 },
};

it.each(benchedClouds)(
  'the first call on %s is sent before anything is loaded that its answer does not need',
  async (name) => {
    const cloud = await loadBenched(name);
    const { functions, close } = await cloud.packaged();
    try {
      const deployed = functions.find((one) => one.name in cloud.fencing);
      if (!deployed) throw new Error(`${name} has no function that fences`);
      const { files, bytes, builtins, withKubernetes, answeredBefore, programs } = await coldStart(deployed, cloud);
      expect(withKubernetes).toBe(false);
      // The token comes before the first question about a machine.
      expect(answeredBefore.filter((asked) => !asked.includes('/token?'))).toEqual([]);
      expect(programs).toEqual([]);
      expect(UNUSED.filter((one) => builtins.includes(one))).toEqual(needed[name] ?? []);
      expect(files).toBeLessThanOrEqual(most[name]?.files ?? 0);
      expect(bytes).toBeLessThanOrEqual(most[name]?.bytes ?? 0);
    } finally {
      await close();
    }
  },
  240_000,
);
