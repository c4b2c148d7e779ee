import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundle, bundleCli, repositoryRoot } from './bundle.ts';
import { writeDeclarations } from './declarations.ts';
import { foldersIn, librariesIn, licensesText } from './libraries.ts';

/** Builds everything that `npm pack` adds to the files of the checkout. `package.json` lists both. */

const FOLDER = 'dist/lib';

/** Returns one export for each cloud that has a plugin. */
const cloudEntries = async (): Promise<Readonly<Record<string, string>>> => {
  const folders = await readdir(path.join(repositoryRoot, 'providers'));
  const registers = folders.map((cloud): [string, string] => [
    `providers/${cloud}`,
    `providers/${cloud}/plugin/register.ts`,
  ]);
  return Object.fromEntries(registers.filter(([, file]) => existsSync(path.join(repositoryRoot, file))));
};

const entries = { fencing: 'fencing/index.ts', ...(await cloudEntries()) };
const bundled = [await bundleCli(), await bundle({ entries, folder: FOLDER, sourcemap: false })];
const typed = await writeDeclarations({ entries, folder: FOLDER });
const libraries = await librariesIn([...bundled.flatMap(foldersIn), ...typed]);
await writeFile(path.join(repositoryRoot, 'dist/THIRD-PARTY-LICENSES.txt'), licensesText(libraries));
await writeFile(path.join(repositoryRoot, 'dist/libraries.json'), JSON.stringify(libraries));
console.log(`${libraries.length} libraries are bundled: dist/THIRD-PARTY-LICENSES.txt`);
