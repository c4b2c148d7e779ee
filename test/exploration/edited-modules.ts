import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Edit } from './unsafe-variants.ts';

/** Loads the modules of Cloudfence again, with edits of their text. The libraries are loaded only once. */

const root = new URL('../..', import.meta.url);
const PARAMETER = 'variant';

interface Edition {
  readonly edits: readonly Edit[];
  readonly applied: Set<Edit>;
}

const editions: Edition[] = [];

const isOurs = (url: string): boolean => url.startsWith(root.href) && !url.includes('/node_modules/');

const editionOf = (url: string): string | null => (isOurs(url) ? new URL(url).searchParams.get(PARAMETER) : null);

const edited = (text: string, { file, from, to }: Edit): string => {
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times: ${from}`);
  return parts.join(to);
};

const withEdits = (text: string, url: string, { edits, applied }: Edition): string => {
  const path = fileURLToPath(url);
  return edits
    .filter(({ file }) => fileURLToPath(new URL(file, root)) === path)
    .reduce((before, edit) => {
      applied.add(edit);
      return edited(before, edit);
    }, text);
};

registerHooks({
  resolve: (specifier, context, next) => {
    const resolved = next(specifier, context);
    const number = editionOf(context.parentURL ?? '');
    return number !== null && isOurs(resolved.url)
      ? { ...resolved, url: `${resolved.url}?${PARAMETER}=${number}` }
      : resolved;
  },
  load: (url, context, next) => {
    const loaded = next(url, context);
    const edition = editions[Number(editionOf(url) ?? NaN)];
    return edition ? { ...loaded, source: withEdits(readFileSync(fileURLToPath(url), 'utf8'), url, edition) } : loaded;
  },
});

/** Returns the exports of the module after these edits in it, and in what it imports. */
export const importEdited = async (path: string, edits: readonly Edit[]): Promise<unknown> => {
  const edition: Edition = { edits, applied: new Set() };
  const number = editions.push(edition) - 1;
  const module: unknown = await import(`${pathToFileURL(path).href}?${PARAMETER}=${number}`);
  const unused = edits.find((edit) => !edition.applied.has(edit));
  if (unused) throw new Error(`${path} does not import ${unused.file}`);
  return module;
};
