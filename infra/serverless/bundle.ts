import path from 'node:path';
import { mkdir, rm, writeFile, readFile } from 'node:fs/promises';
import { build, transform, type Metafile, type Plugin } from 'esbuild';
import type { FunctionConfig, Hooks, Options, Serverless } from './service.ts';
import { slimLibraries } from './slim-libraries.ts';
import util from 'node:util';

const TARGET = 'node24';

/** Only the CLI runs drills. Otherwise, the cloud calls of a drill would be part of what every function loads. */
const withoutDrills: Plugin = {
  name: 'without-drills',
  setup: (build) => {
    build.onLoad({ filter: /[\\/]providers[\\/]\w+[\\/]drill\.ts$/ }, () => ({
      contents: "throw new Error('a function has no drills: use `cloudfence drill`');",
    }));
  },
};

/**
 * Bundles one handler into a folder: `index.js`, and one more file for each part that is loaded at its first use. The
 * parts share their code, so an error class is the same class everywhere. Everything is CommonJS, which starts fastest
 * in Lambda and its emulators. esbuild can split only ES modules, so each part is converted afterwards.
 *
 * @returns the inputs of the bundle
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
    plugins: [withoutDrills, withoutUnusedBuiltins, ...slimLibraries],
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

const HANDLER = /^(?<file>.+)\.(?<name>\w+)$/;

interface Bundle {
  readonly source: string;
  readonly folder: string;
}

/** Points a function at its bundle instead of its source, and limits its zip to that bundle. */
const pointAtBundle = (name: string, config: FunctionConfig): Bundle => {
  const { file = '', name: handler = '' } = HANDLER.exec(config.handler)?.groups ?? {};
  const folder = `dist/functions/${name}`;
  config.handler = `${folder}/index.${handler}`;
  config.package = { patterns: ['!**', `${folder}/**`] };
  return { source: `${file}.ts`, folder };
};

/** A plugin of `serverless` that bundles each function on its own before it is packaged. */
export default function bundle(serverless: Serverless, options: Options): { readonly hooks: Hooks } {
  const { service, serviceDir } = serverless;
  const bundles = new Map<string, Bundle>();
  const prepare = (): void => {
    service.package = { ...service.package, individually: true, excludeDevDependencies: false };
    for (const name of service.getAllFunctions()) bundles.set(name, pointAtBundle(name, service.getFunction(name)));
  };
  const write = async (names: readonly string[]): Promise<void> => {
    const wanted = [...bundles].filter(([name]) => names.includes(name));
    for (const [, { source, folder }] of wanted)
      await bundleFunction(serviceDir, source, path.join(serviceDir, folder));
  };
  const writeAll = (): Promise<void> => write([...bundles.keys()]);
  const writeOne = (): Promise<void> => write(options.function === undefined ? [] : [options.function]);
  return {
    hooks: {
      initialize: prepare,
      'before:package:initialize': writeAll,
      'before:package:function:package': writeOne,
      'before:deploy:function:initialize': writeOne,
      'before:invoke:local:invoke': writeOne,
    },
  };
}

/**
 * Some Node modules load others if one of their properties is read, such as all of undici for `FormData`. Libraries
 * read these properties but do not use them.
 */

/** A library's check whether a body is a form. A string is not a form, and no function sends any other body. */
const IS_A_FORM = 'typeof FormData !== "undefined" && body instanceof FormData';
const MAY_BE_A_FORM = `typeof body === "object" && body !== null && ${IS_A_FORM}`;

const COPIED_UTIL = '__importStar(require("util"))';
const UTIL = 'require("util")';

/** `util` by its properties, each of which is read only if it is used. The bundler and a compiler copy all of them. */
const READ_ON_USE = [
  "const util = process.getBuiltinModule('node:util');",
  'export default util;',
  ...Object.keys(util).map((name) => `export const ${name} = /* @__PURE__ */ (() => util.${name})();`),
].join('\n');

/** Prevents a cold start from loading Node modules that it does not use. */
const withoutUnusedBuiltins: Plugin = {
  name: 'without-unused-builtins',
  setup: (build) => {
    const change = (filter: RegExp, part: string, by: string): void =>
      build.onLoad({ filter }, async ({ path: file }) => {
        const text = await readFile(file, 'utf8');
        if (!text.includes(part)) throw new Error(`${file} has no ${part}: update unused-builtins.ts`);
        return { contents: text.replace(part, by), loader: 'js' };
      });
    change(/@typespec[\\/]ts-http-runtime[\\/]dist[\\/]esm[\\/]formData\.js$/, IS_A_FORM, MAY_BE_A_FORM);
    change(/google-logging-utils[\\/]build[\\/]src[\\/]logging-utils\.js$/, COPIED_UTIL, UTIL);
    build.onResolve({ filter: /^(?:node:)?util$/ }, ({ kind }) =>
      kind === 'import-statement' ? { path: 'util', namespace: 'read-on-use' } : undefined,
    );
    build.onLoad({ filter: /^util$/, namespace: 'read-on-use' }, () => ({ contents: READ_ON_USE, loader: 'js' }));
  },
};
