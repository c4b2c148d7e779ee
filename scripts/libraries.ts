import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import type { Metafile } from 'esbuild';
import { z } from 'zod';
import ownManifest from '../package.json' with { type: 'json' };
import { repositoryRoot } from './bundle.ts';

/**
 * The libraries in a bundle or a release: their licenses, because most licenses require that they are shipped with the
 * code, and their bill of materials.
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
  `${RULE}\n${name} ${version} (${license})\n` +
  `${RULE}\n\n${text ?? `The package contains no license text. It declares the license ${license}.`}\n`;

export const librariesIn = async (folders: readonly string[]): Promise<readonly Library[]> =>
  (await Promise.all([...new Set(folders)].map(libraryIn))).sort(byName);

export const licensesText = (libraries: readonly Library[]): string => [HEAD, ...libraries.map(section)].join('\n');

const component = z.looseObject({ 'bom-ref': z.string(), name: z.string(), version: z.string() });
const dependency = z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()).default([]) });
const bill = z.looseObject({
  metadata: z.looseObject({ component }),
  components: z.array(component),
  dependencies: z.array(dependency),
});

const uuid = (text: string): string =>
  createHash('sha256')
    .update(text)
    .digest('hex')
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-5$3-a$4-$5');

/**
 * Marks a library as required. In the lock file all libraries are devDependencies, because the bundles contain them,
 * but a release requires them.
 */
const shippedAs = ({ properties: _ofTheCheckout, ...one }: z.infer<typeof component>) => ({
  ...one,
  scope: 'required',
});

const SBOM = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--loglevel', 'error'];

/**
 * Builds the CycloneDX bill of materials from what npm reports about the lock file, limited to the libraries in the
 * release.
 */
export const billOfMaterials = async (libraries: readonly Library[], madeAt: Date): Promise<object> => {
  const { stdout } = await promisify(execFile)('npm', SBOM, { cwd: repositoryRoot, maxBuffer: 1 << 26 });
  const whole = bill.parse(JSON.parse(stdout));
  const shipped = new Set(libraries.map(({ name, version }) => `${name}@${version}`));
  const components = [
    ...new Map(
      whole.components
        .filter(({ name, version }) => shipped.has(`${name}@${version}`))
        .map((one) => [`${one.name}@${one.version}`, shippedAs(one)]),
    ).values(),
  ];
  const missing = [...shipped].filter((id) => components.every(({ name, version }) => `${name}@${version}` !== id));
  if (missing.length > 0) throw new Error(`the lock file does not name ${missing.join(', ')}`);
  const refs = new Set(components.map((one) => one['bom-ref']));
  const own = whole.metadata.component['bom-ref'];
  const dependencies = whole.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map((one) => ({ ...one, dependsOn: one.dependsOn.filter((ref) => refs.has(ref)) }));
  // npm takes the component's name from the folder, and adds itself with its version. Neither belongs in a release.
  const { tools: _npm, ...metadata } = whole.metadata;
  const described = {
    ...metadata,
    timestamp: madeAt.toISOString(),
    component: { ...metadata.component, name: ownManifest.name },
  };
  const content = {
    ...whole,
    metadata: described,
    components,
    dependencies: [{ ref: own, dependsOn: [...refs] }, ...dependencies],
  };
  return { ...content, serialNumber: `urn:uuid:${uuid(JSON.stringify({ components, dependencies }))}` };
};
