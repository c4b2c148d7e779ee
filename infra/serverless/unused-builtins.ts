import { readFile } from 'node:fs/promises';
import util from 'node:util';
import type { Plugin } from 'esbuild';

/**
 * Some modules of Node load others when one of their properties is read, such as all of undici for `FormData`. Libraries
 * read these properties, and use none of them.
 */

/** A library's question whether a body is a form. A text is none, and no function sends another body. */
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

/** Keeps a start from loading modules of Node that it does not use. */
export const withoutUnusedBuiltins: Plugin = {
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
