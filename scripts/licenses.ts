import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Metafile } from 'esbuild';
import { z } from 'zod';
import { repositoryRoot } from './bundle.ts';

/**
 * Collects the licenses of the libraries in a bundle, because most licenses require that they are shipped with the
 * code.
 */

const manifest = z.object({ name: z.string(), version: z.string(), license: z.string().optional() });

export const librarySchema = z
  .object({ name: z.string(), version: z.string(), license: z.string(), text: z.string().nullable() })
  .readonly();

export type Library = z.infer<typeof librarySchema>;

const PACKAGE = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;

/**
 * Returns the folders of the packages whose code is in the outputs. A file that was read but left out is not shipped.
 */
export const foldersIn = ({ outputs }: Metafile): readonly string[] => {
  const files = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
  );
  return [...new Set(files.flatMap((file) => PACKAGE.exec(file)?.[0] ?? []))];
};

const licenseIn = async (folder: string): Promise<string | null> => {
  const files = (await readdir(folder)).filter((name) => /^(?:licen[cs]e|copying|notice)/i.test(name)).sort();
  const texts = await Promise.all(files.map((file) => readFile(path.join(folder, file), 'utf8')));
  return texts.length === 0 ? null : texts.map((text) => text.trim()).join('\n\n');
};

const libraryIn = async (folder: string): Promise<Library> => {
  const at = path.join(repositoryRoot, folder);
  const {
    name,
    version,
    license = 'see its text',
  } = manifest.parse(JSON.parse(await readFile(path.join(at, 'package.json'), 'utf8')));
  return { name, version, license, text: await licenseIn(at) };
};

const byName = (a: Library, b: Library): number => (`${a.name}@${a.version}` < `${b.name}@${b.version}` ? -1 : 1);

const RULE = '='.repeat(80);
const HEAD = 'Cloudfence contains code of the libraries below. Each is listed with its version and its license.\n';
const section = ({ name, version, license, text }: Library): string =>
  `${RULE}\n${name} ${version} (${license})\n${RULE}\n\n${text ?? `The package contains no license text. It declares the license ${license}.`}\n`;

export const librariesIn = async (folders: readonly string[]): Promise<readonly Library[]> =>
  (await Promise.all([...new Set(folders)].map(libraryIn))).sort(byName);

export const licensesText = (libraries: readonly Library[]): string => [HEAD, ...libraries.map(section)].join('\n');
