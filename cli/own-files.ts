import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellWord } from '../providers/stage.ts';

/** The files that come with the CLI. In a checkout, a person works among them. A package is installed elsewhere. */

/** A file of each package, as the texts of Cloudfence name it. */
const PACKAGED = /(?<![\w./-])(?:infra\/kubernetes\/[\w-]+\.yaml|docs\/install\.md)\b/g;

/** Only a checkout has it. */
const OF_CHECKOUT = 'serverless.yml';

/** The quotes of a JSON line would have to be escaped in it. */
const isPlain = (folder: string): boolean => !/["'\\]/.test(folder);

const packageIn = (folder: string): string | null =>
  existsSync(path.join(folder, 'infra/kubernetes')) && !existsSync(path.join(folder, OF_CHECKOUT)) ? folder : null;

/** The folder of the package whose CLI this is: the built CLI is in `dist/cli/`. Null in a checkout. */
export const packageFolder: string | null = packageIn(fileURLToPath(new URL('../..', import.meta.url)));

/** Returns the text with paths that exist for the person who reads it. */
export const withOwnPaths = (text: string, folder: string | null): string => {
  const own = folder?.replaceAll(path.win32.sep, path.posix.sep) ?? null;
  if (own === null || !isPlain(own)) return text;
  return text.replaceAll(PACKAGED, (file) => shellWord(path.posix.join(own, file)));
};
