import { readFileSync } from 'node:fs';
import path from 'node:path';

/** What belongs to a cloud according to docs/clouds.md. People remove a cloud by that page, and so does the test. */

export interface CloudOnThePage {
  readonly name: string;
  /** A file belongs to the cloud if one of these is a folder in its path or a word of its name. */
  readonly words: readonly string[];
  /** Folders whose tests may need the cloud although their names do not say so. */
  readonly playedOnIt: readonly string[];
}

const ROW = /^\| ([\w ]+) \| ((?:`\w+`(?:, )?)+) \| (.+) \|$/gm;

const quoted = (cell: string): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);

export const cloudsOnThePage = (root: string): readonly CloudOnThePage[] => {
  const text = readFileSync(path.join(root, 'docs/clouds.md'), 'utf8');
  return [...text.matchAll(ROW)].map(([, name = '', words = '', folders = '']) => ({
    name,
    words: quoted(words),
    playedOnIt: quoted(folders),
  }));
};
