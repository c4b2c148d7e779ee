import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { repositoryRoot } from './bundle.ts';

/** Writes the Helm chart of a release: `infra/kubernetes` as it is, as an archive that helm installs. */

const SOURCE = 'infra/kubernetes';
/** Helm takes the name of the chart from the directory in the archive. */
const DIRECTORY = 'cloudfence';

/**
 * The constants of the tar format that plain files with short names need.
 * https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html#tag_20_94_13_06
 */
const BLOCK = 512;
const FIELDS = {
  name: 0,
  mode: 100,
  uid: 108,
  gid: 116,
  size: 124,
  mtime: 136,
  sum: 148,
  type: 156,
  magic: 257,
} as const;
const MODE = 0o644;
const PLAIN_FILE = '0';

const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;

/** Returns the header of a file. Its fixed owner and time give the same bytes for the same files at any time. */
const headerOf = (name: string, size: number): Buffer => {
  const header = Buffer.alloc(BLOCK);
  const put = (field: keyof typeof FIELDS, text: string): number => header.write(text, FIELDS[field], 'latin1');
  if (name.length >= FIELDS.mode) throw new Error(`the name of ${name} is too long for a tar archive`);
  put('name', name);
  put('mode', octal(MODE, 7));
  put('uid', octal(0, 7));
  put('gid', octal(0, 7));
  put('size', octal(size, 11));
  put('mtime', octal(0, 11));
  put('type', PLAIN_FILE);
  put('magic', 'ustar\x0000');
  put('sum', ' '.repeat(8));
  put(
    'sum',
    `${octal(
      header.reduce((sum, byte) => sum + byte, 0),
      6,
    )} `,
  );
  return header;
};

const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc(-bytes.length & (BLOCK - 1))]);

const filesIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { withFileTypes: true, recursive: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, '/'))
    .sort();

export const writeChart = async (file: string): Promise<void> => {
  const folder = path.join(repositoryRoot, SOURCE);
  const parts: Buffer[] = [];
  for (const name of await filesIn(folder)) {
    const bytes = await readFile(path.join(folder, name));
    parts.push(headerOf(`${DIRECTORY}/${name}`, bytes.length), padded(bytes));
  }
  await writeFile(file, gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]), { level: 9 }));
};
