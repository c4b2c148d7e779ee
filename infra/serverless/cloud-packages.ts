import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bundleFunction } from './bundle-function.ts';
import type { DeployableCloud, PackagedFunction } from './deployer.ts';
import type { FunctionConfig, Options, Serverless } from './service.ts';
import { zipped } from './zip.ts';

/** The functions of a service for a cloud that `serverless` knows nothing about: each bundled, and zipped with its manifest. */

const HANDLER = /^(?<file>.+)\.(?<name>\w+)$/;

export const sourceOf = ({ handler }: FunctionConfig): { readonly file: string; readonly name: string } => {
  const { file = '', name = '' } = HANDLER.exec(handler)?.groups ?? {};
  return { file: `${file}.ts`, name };
};

/** What the platform reads in a package. */
type Read = Pick<DeployableCloud, 'manifest' | 'files'>;

/** The folder with the bundle of one function. */
export const bundled = async ({ serviceDir, service }: Serverless, name: string, { manifest, files = {} }: Read): Promise<string> => {
  const folder = path.join(serviceDir, 'dist/functions', service.provider.name, name);
  await bundleFunction(serviceDir, sourceOf(service.getFunction(name)).file, folder);
  const written = { ...files, 'package.json': `${JSON.stringify(manifest)}\n` };
  await Promise.all(Object.entries(written).map(([file, text]) => writeFile(path.join(folder, file), text)));
  return folder;
};

const zipOf = async (folder: string): Promise<Buffer> =>
  zipped(await Promise.all((await readdir(folder)).map(async (name) => ({ name, bytes: await readFile(path.join(folder, name)) }))));

const folderFor = ({ serviceDir }: Serverless, { package: wanted }: Options): string => path.resolve(serviceDir, wanted ?? '.serverless');

/** Writes a zip for each function, where the core then finds it and makes none of its own. */
export const writePackages = async (serverless: Serverless, options: Options, read: Read): Promise<void> => {
  const { service } = serverless;
  const folder = folderFor(serverless, options);
  await mkdir(folder, { recursive: true });
  // Functions of one app have one source, and so one bundle.
  const zips = new Map<string, Buffer>();
  for (const name of service.getAllFunctions()) {
    const { file } = sourceOf(service.getFunction(name));
    const zip = zips.get(file) ?? (await zipOf(await bundled(serverless, name, read)));
    zips.set(file, zip);
    const artifact = path.join(folder, `${name}.zip`);
    await writeFile(artifact, zip);
    service.getFunction(name).package = { artifact };
  }
};

export const readPackages = (serverless: Serverless, options: Options): Promise<readonly PackagedFunction[]> =>
  Promise.all(serverless.service.getAllFunctions().map(async (name) => ({ name, zip: await readFile(path.join(folderFor(serverless, options), `${name}.zip`)) })));
