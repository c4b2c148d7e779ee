import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Plugin } from 'esbuild';

/** Zod's settings before anyone sets them. */
const SETTINGS = '(_a.__zod_globalConfig = {})';

/**
 * The methods of a text for its formats, such as `z.string().email()`. Zod calls them deprecated: `z.email()` came
 * after.
 */
const FORMAT_METHODS =
  /(?<head>^export const ZodString = [^{]*\{[^}]*\}), \{\n(?<methods> {4}email\(params\) \{[\s\S]*?)\n\}\);$/m;

/** Only the project's own code is TypeScript. */
const OWN_SOURCE = /\.ts$/;
const IMPORT = "import { z } from 'zod';";

/** A constant of a module that is a schema. It ends before the next statement, which begins at the left edge. */
const SCHEMA =
  /^(?<name>(?:export )?const \w+(?:: [^=]+)? =)\s+(?<schema>z\s*\.[\s\S]*?);\n(?=\n*(?:[^\s)}\]]|(?![\s\S])))/gm;

/**
 * A schema that is created at its first use: reading a property of it reads that property of the created schema. A cold
 * start loads many schemas but uses few, and creating schemas takes longer than any other part of Cloudfence's own
 * code.
 */
const LAZY_SCHEMA = `
export const lazySchema = (make) => {
  let made = null;
  const schema = () => (made ??= make());
  return new Proxy({}, { get: (_, key) => schema()[key], has: (_, key) => key in schema() });
};
`;

/** Returns the text with another part. @throws if the text does not have the part */
const replaced = (text: string, part: string | RegExp, by: string, file: string): string => {
  const other = text.replace(part, by);
  if (other !== text) return other;
  throw new Error(`${file} has no ${part}: update slim-zod.ts`);
};

/** A format as a method of a string schema, which the bundle does not contain. */
const ofText =
  /z\s*\.string\(\)(?:\s*\.\w+\([^()]*\))*\s*\.(?<format>email|url|uuid|guid|ip\w+|cidr\w+|base64\w*|datetime|date|time|duration|jwt)\(/;

/**
 * Returns a module of Cloudfence with schemas that are created at their first use. Importing `z` by name would keep all
 * of Zod. Importing the namespace keeps only what is used.
 */
const withLazySchemas = (text: string, file: string): string => {
  const { format } = ofText.exec(text)?.groups ?? {};
  if (format !== undefined) throw new Error(`${file}: write z.${format}() instead of z.string().${format}()`);
  return text
    .replace(IMPORT, "import * as z from 'zod';\nimport { lazySchema } from 'lazy-schema';")
    .replaceAll(SCHEMA, '$<name> /* @__PURE__ */ lazySchema(() => $<schema>);\n');
};

/** Returns a module with the same exports, each of which throws. */
const absent = (text: string): string => {
  const names = [...text.matchAll(/^export (?:const|function) (\w+)/gm)].flatMap(([, name]) => name ?? []);
  const renamed = [...text.matchAll(/^export \{ \w+ as (\w+) \};$/gm)].flatMap(([, name]) => name ?? []);
  const fails = "const absent = () => { throw new Error('a function has no JSON Schemas: see slim-zod.ts'); };";
  return [fails, ...[...names, ...renamed].map((name) => `export { absent as ${name} };`)].join('\n');
};

/**
 * Keeps only the used parts of Zod. Zod contains fifty languages, JSON Schemas, and formats as methods, and its index
 * exports all of them. Zod also compiles code for each schema at its first use, which takes more time in a cold start
 * than it saves.
 */
export const slimZod: Plugin = {
  name: 'slim-zod',
  setup: (build) => {
    const load = (filter: RegExp, loader: 'js' | 'ts', change: (text: string, file: string) => string): void =>
      build.onLoad({ filter }, async ({ path: file }) => ({
        contents: change(await readFile(file, 'utf8'), file),
        loader,
        resolveDir: path.dirname(file),
      }));
    load(/zod[\\/]v4[\\/]locales[\\/]index\.js$/, 'js', () => "export { default as en } from './en.js';");
    load(/zod[\\/]v4[\\/]core[\\/]core\.js$/, 'js', (text, file) =>
      replaced(text, SETTINGS, SETTINGS.replace('{}', '{ jitless: true }'), file),
    );
    load(/zod[\\/]v4[\\/]core[\\/](?:to-json-schema|json-schema-processors)\.js$/, 'js', absent);
    load(/zod[\\/]v4[\\/]classic[\\/]schemas\.js$/, 'js', (text, file) =>
      replaced(text, FORMAT_METHODS, '$<head>);', file),
    );
    load(OWN_SOURCE, 'ts', withLazySchemas);
    build.onResolve({ filter: /^lazy-schema$/ }, () => ({ path: 'lazy-schema', namespace: 'zod' }));
    build.onLoad({ filter: /^lazy-schema$/, namespace: 'zod' }, () => ({ contents: LAZY_SCHEMA, loader: 'js' }));
  },
};
