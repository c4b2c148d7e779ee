import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellWord } from '../providers/stage.ts';

/**
 * The files that belong to the CLI. In a checkout, the paths in messages are relative to it. A package is installed in
 * another folder.
 */

/** The path of a file that every package contains, as it appears in messages. */
const PACKAGED = /(?<![\w./-])(?:infra\/kubernetes\/[\w-]+\.yaml|docs\/install\.md)\b/g;

/** This file exists only in a checkout. */
const OF_CHECKOUT = 'serverless.yml';

/** In a JSON line, quotes in the path would have to be escaped. */
const isPlain = (folder: string): boolean => !/["'\\]/.test(folder);

const packageIn = (folder: string): string | null =>
  existsSync(path.join(folder, 'infra/kubernetes')) && !existsSync(path.join(folder, OF_CHECKOUT)) ? folder : null;

/** The folder of the package that contains this CLI: the built CLI is in `dist/cli/`. Null in a checkout. */
export const packageFolder: string | null = packageIn(fileURLToPath(new URL('../..', import.meta.url)));

/** Returns the text with paths that exist on the reader's computer. */
export const withOwnPaths = (text: string, folder: string | null): string => {
  const own = folder?.replaceAll(path.win32.sep, path.posix.sep) ?? null;
  if (own === null || !isPlain(own)) return text;
  return text.replaceAll(PACKAGED, (file) => shellWord(path.posix.join(own, file)));
};
