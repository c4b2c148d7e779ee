import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';
import { slimLibraries } from '../infra/serverless/slim-libraries.ts';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Libraries in the old format of modules take it for granted. */
const REQUIRE =
  "import { createRequire as requireFrom$ } from 'node:module'; const require = requireFrom$(import.meta.url);";

export interface Wanted {
  /** Sources by the name of their bundle. */
  readonly entries: Readonly<Record<string, string>>;
  /** A folder that holds nothing else. */
  readonly folder: string;
  readonly sourcemap: boolean;
}

const filesIn = async (folder: string): Promise<readonly string[]> => {
  const found = await readdir(folder, { withFileTypes: true, recursive: true });
  return found.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
};

/**
 * Bundles the entries with their libraries. What is loaded on first use is a file of its own, shared by all entries.
 */
export const bundle = async ({ entries, folder, sourcemap }: Wanted): Promise<Metafile> => {
  const outdir = path.join(root, folder);
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { ...entries },
    outdir,
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    minifySyntax: true,
    minifyWhitespace: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    mainFields: ['module', 'main'],
    outExtension: { '.js': '.mjs' },
    chunkNames: '[name]-[hash]',
    ...(sourcemap && { sourcemap: 'linked', sourcesContent: false }),
    legalComments: 'none',
    banner: { js: REQUIRE },
    logLevel: 'warning',
    plugins: slimLibraries,
  });
  await Promise.all(
    outputFiles.map(async ({ path: file, contents }) => {
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, contents);
    }),
  );
  // A process that runs the old bundle may still need its parts, but only until now.
  const written = new Set(outputFiles.map(({ path: file }) => file));
  await Promise.all((await filesIn(outdir)).filter((file) => !written.has(file)).map((file) => rm(file)));
  return metafile;
};

/**
 * Bundles the CLI with its libraries into dist/cli: to find and read thousands of their files takes longer than a
 * fence's own calls. Each command's and each cloud's part is a file of its own, loaded when it is needed.
 */
export const bundleCli = (): Promise<Metafile> =>
  bundle({ entries: { cloudfence: 'cli/main.ts' }, folder: 'dist/cli', sourcemap: true });
