import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';

/** The lists of schemas that the AWS SDK's clients are generated from. */
const SCHEMAS = /@aws-sdk[\\/](?:client-|nested-clients)[^\\/]*[\\/](?:.*[\\/])?schemas[\\/]schemas_\d+\.js$/;
const DECLARATION = /^((?:export )?var \w+\$? = )(\[[^;]*?\]);$/gm;

/**
 * A schema's computed keys (`{ [_id]: … }`) look like side effects, so a bundler keeps the schemas of calls that nobody
 * makes. This says that they have none.
 */
export const slimAmazon: Plugin = {
  name: 'slim-amazon',
  setup: (build) => {
    build.onLoad({ filter: SCHEMAS }, async ({ path }) => ({
      loader: 'js',
      contents: (await readFile(path, 'utf8')).replaceAll(DECLARATION, '$1/* @__PURE__ */ (() => $2)();'),
    }));
  },
};
