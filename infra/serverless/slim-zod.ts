import path from 'node:path';
import type { Plugin } from 'esbuild';

/** Zod's messages in English only: it carries fifty languages, and its index names them all. */
export const slimZod: Plugin = {
  name: 'slim-zod',
  setup: (build) => {
    build.onLoad({ filter: /zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, ({ path: file }) => ({
      contents: "export { default as en } from './en.js';",
      loader: 'js',
      resolveDir: path.dirname(file),
    }));
  },
};
