import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile, type OutputFile } from 'esbuild';
import { slimLibraries } from '../infra/serverless/slim-libraries.ts';

export const repositoryRoot = fileURLToPath(new URL('..', import.meta.url));

/** Defines `require` in each bundle, because CommonJS libraries assume it. */
const REQUIRE =
  "import { createRequire as requireFrom$ } from 'node:module'; const require = requireFrom$(import.meta.url);";

export interface BundleOptions {
  /** Source files by the name of their bundle. */
  readonly entries: Readonly<Record<string, string>>;
  /** The output folder. It contains only these files. */
  readonly folder: string;
  readonly sourcemap: boolean;
}

const filesIn = async (folder: string): Promise<readonly string[]> => {
  const found = await readdir(folder, { withFileTypes: true, recursive: true });
  return found.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
};

/**
 * Writes the files next to the folder, and then moves each one into it, so that a process with an older bundle never
 * reads an incomplete file.
 */
const moveInto = async (outdir: string, files: readonly OutputFile[]): Promise<void> => {
  const beside = `${outdir}.${process.pid}`;
  for (const { path: file, contents } of files) {
    const made = path.join(beside, path.relative(outdir, file));
    await mkdir(path.dirname(made), { recursive: true });
    await writeFile(made, contents);
    await mkdir(path.dirname(file), { recursive: true });
    await rename(made, file);
  }
  await rm(beside, { recursive: true });
};

/**
 * Bundles the entries with their libraries. Code that is loaded on first use becomes a separate file, which all entries
 * share.
 */
export const bundle = async ({ entries, folder, sourcemap }: BundleOptions): Promise<Metafile> => {
  const outdir = path.join(repositoryRoot, folder);
  const { outputFiles, metafile } = await build({
    absWorkingDir: repositoryRoot,
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
  await moveInto(outdir, outputFiles);
  // Removes the files of the previous bundle last, because a running process may need them while the new ones are
  // written.
  const written = new Set(outputFiles.map(({ path: file }) => file));
  await Promise.all((await filesIn(outdir)).filter((file) => !written.has(file)).map((file) => rm(file)));
  return metafile;
};

/**
 * Bundles the CLI with its libraries into dist/cli, because reading thousands of library files takes longer than the
 * calls of a fence. The code of each command and of each cloud is a separate file, loaded when needed.
 */
export const bundleCli = (): Promise<Metafile> =>
  bundle({ entries: { cloudfence: 'cli/main.ts' }, folder: 'dist/cli', sourcemap: true });
