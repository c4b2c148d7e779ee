import { readFileSync } from 'node:fs';
import path from 'node:path';

/** What docs/clouds.md says belongs to a cloud: people take one out by that page, and so does the test. */

export interface CloudOnThePage {
  readonly name: string;
  /** A file is the cloud's when one of these is a folder on its way, or a word of its own name. */
  readonly words: readonly string[];
  /** Folders whose tests may need the cloud though their names do not say so. */
  readonly playedOnIt: readonly string[];
}

export interface Page {
  readonly clouds: readonly CloudOnThePage[];
  /** Files that list the clouds, a line for each. */
  readonly lists: readonly string[];
}

const ROW = /^\| ([\w ]+) \| ((?:`\w+`(?:, )?)+) \| (.+) \|$/gm;
const LINE = /^- `([\w/.-]+\.ts)`:/gm;

const quoted = (cell: string): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);

export const pageIn = (root: string): Page => {
  const text = readFileSync(path.join(root, 'docs/clouds.md'), 'utf8');
  return {
    clouds: [...text.matchAll(ROW)].map(([, name = '', words = '', folders = '']) => ({
      name,
      words: quoted(words),
      playedOnIt: quoted(folders),
    })),
    lists: [...text.matchAll(LINE)].map(([, file = '']) => file),
  };
};
