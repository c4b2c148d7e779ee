import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { slimLibraries } from '../infra/serverless/slim-libraries.ts';

/**
 * Bundles the CLI with its libraries into dist/cli: to find and read thousands of their files takes longer than a fence's
 * own calls. Each command's and each cloud's part is a file of its own, loaded when it is needed.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const outdir = path.join(root, 'dist/cli');

/** Libraries in the old format of modules take it for granted. */
const REQUIRE = "import { createRequire as requireFrom$ } from 'node:module'; const require = requireFrom$(import.meta.url);";

const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: { cloudfence: 'cli/main.ts' },
  outdir,
  write: false,
  bundle: true,
  splitting: true,
  minifySyntax: true,
  minifyWhitespace: true,
  platform: 'node',
  target: 'node22',
  format: 'esm',
  mainFields: ['module', 'main'],
  outExtension: { '.js': '.mjs' },
  chunkNames: '[name]-[hash]',
  sourcemap: 'linked',
  sourcesContent: false,
  banner: { js: REQUIRE },
  logLevel: 'warning',
  plugins: slimLibraries,
});

await mkdir(outdir, { recursive: true });
await Promise.all(outputFiles.map(({ path: file, contents }) => writeFile(file, contents)));
const written = new Set(outputFiles.map(({ path: file }) => path.basename(file)));
// Whoever runs the old one meanwhile may still want its parts, but only until now.
await Promise.all((await readdir(outdir)).filter((file) => !written.has(file)).map((file) => rm(path.join(outdir, file))));
