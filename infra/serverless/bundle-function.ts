import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { build, transform, type Metafile, type Plugin } from 'esbuild';
import { slimLibraries } from './slim-libraries.ts';

const TARGET = 'node24';

/** Only the CLI drills. What a drill asks the cloud would be in the parts that every function loads. */
const withoutDrills: Plugin = {
  name: 'without-drills',
  setup: (build) => {
    build.onLoad({ filter: /[\\/]providers[\\/]\w+[\\/]drill\.ts$/ }, () => ({
      contents: "throw new Error('a function has no drills: use `cloudfence drill`');",
    }));
  },
};

/**
 * Bundles one handler into a folder: `index.js`, and one more file for each part that is loaded on first use. The parts
 * share their code, so an error class is the same class everywhere. Everything is CommonJS, which starts fastest in
 * Lambda and its emulators. esbuild can split only ES modules, so each part is converted afterwards.
 *
 * @returns what the bundle is made of
 */
export const bundleFunction = async (root: string, entry: string, outdir: string): Promise<Metafile> => {
  const { parts, metafile } = await partsOf(root, entry);
  await rm(outdir, { recursive: true, force: true });
  await mkdir(outdir, { recursive: true });
  await Promise.all(parts.map(async ({ name, text }) => writeFile(path.join(outdir, name), await commonJs(text))));
  await writeFile(path.join(outdir, 'package.json'), `${JSON.stringify({ type: 'commonjs' })}\n`);
  return metafile;
};

interface Bundled {
  readonly parts: readonly { readonly name: string; readonly text: string }[];
  readonly metafile: Metafile;
}

const partsOf = async (root: string, entry: string): Promise<Bundled> => {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { index: entry },
    outdir: 'out',
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    minify: true,
    platform: 'node',
    target: TARGET,
    format: 'esm',
    mainFields: ['module', 'main'],
    chunkNames: '[name]-[hash]',
    legalComments: 'none',
    logLevel: 'error',
    // The host of Azure Functions provides it.
    external: ['@azure/functions-core'],
    plugins: [withoutDrills, ...slimLibraries],
  });
  return { parts: outputFiles.map((file) => ({ name: path.basename(file.path), text: file.text })), metafile };
};

const commonJs = async (text: string): Promise<string> =>
  (
    await transform(text, {
      format: 'cjs',
      platform: 'node',
      target: TARGET,
      minify: true,
      supported: { 'dynamic-import': false },
      legalComments: 'none',
    })
  ).code;
