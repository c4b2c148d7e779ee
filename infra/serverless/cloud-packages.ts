import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import { setFunctionEnvironment } from '../../config/environment.ts';
import { parseJsonOrText } from '../../fencing/model/json-text.ts';
import { bundleFunction } from './bundle.ts';
import type { DeployableCloud, PackagedFunction, PreparedDeployment } from './deployer.ts';
import type { FunctionConfig, Options, Serverless } from './service.ts';

/** A file in a zip. */
interface ZippedFile {
  readonly name: string;
  readonly bytes: Buffer;
}

/**
 * The constants of the zip format that plain files need.
 * https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
 */
const VERSION = 20;
const UTF8_NAMES = 0x0800;
const DEFLATED = 8;
/** Midnight on 1 January 1980. A fixed date gives the same bytes for the same files at any time. */
const DATE = (1 << 5) | 1;
/** A plain file that everyone can read. */
const MODE = (0o100644 << 16) >>> 0;
const MADE_ON_UNIX = (3 << 8) | VERSION;

const shorts = (...values: readonly number[]): Buffer =>
  Buffer.concat(values.map((value) => Buffer.from(Uint16Array.of(value).buffer)));
const longs = (...values: readonly number[]): Buffer =>
  Buffer.concat(values.map((value) => Buffer.from(Uint32Array.of(value).buffer)));

const described = ({ name, bytes }: ZippedFile, packed: Buffer): Buffer =>
  Buffer.concat([
    shorts(VERSION, UTF8_NAMES, DEFLATED, 0, DATE),
    longs(crc32(bytes), packed.length, bytes.length),
    shorts(Buffer.byteLength(name), 0),
  ]);

export const zipFiles = (files: readonly ZippedFile[]): Buffer => {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let at = 0;
  for (const entry of files.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const packed = deflateRawSync(entry.bytes, { level: 9 });
    const name = Buffer.from(entry.name);
    const header = described(entry, packed);
    const local = Buffer.concat([longs(0x04034b50), header, name, packed]);
    central.push(longs(0x02014b50), shorts(MADE_ON_UNIX), header, shorts(0, 0, 0), longs(MODE, at), name);
    locals.push(local);
    at += local.length;
  }
  const directory = Buffer.concat(central);
  return Buffer.concat([
    ...locals,
    directory,
    longs(0x06054b50),
    shorts(0, 0, files.length, files.length),
    longs(directory.length, at),
    shorts(0),
  ]);
};

/**
 * Packages the functions of a service for a cloud that `serverless` does not support: each is bundled, and zipped with
 * its manifest.
 */

const HANDLER = /^(?<file>.+)\.(?<name>\w+)$/;

const sourceOf = ({ handler }: FunctionConfig): { readonly file: string; readonly name: string } => {
  const { file = '', name = '' } = HANDLER.exec(handler)?.groups ?? {};
  return { file: `${file}.ts`, name };
};

/** The files of a package that the platform reads. */
type Read = Pick<DeployableCloud, 'manifest' | 'files'>;

/** Bundles one function, and returns the folder. */
const bundled = async (
  { serviceDir, service }: Serverless,
  name: string,
  { manifest, files = {} }: Read,
): Promise<string> => {
  const folder = path.join(serviceDir, 'dist/functions', service.provider.name, name);
  await bundleFunction(serviceDir, sourceOf(service.getFunction(name)).file, folder);
  const written = { ...files, 'package.json': `${JSON.stringify(manifest)}\n` };
  await Promise.all(Object.entries(written).map(([file, text]) => writeFile(path.join(folder, file), text)));
  return folder;
};

const zipOf = async (folder: string): Promise<Buffer> =>
  zipFiles(
    await Promise.all(
      (await readdir(folder)).map(async (name) => ({ name, bytes: await readFile(path.join(folder, name)) })),
    ),
  );

const folderFor = ({ serviceDir }: Serverless, { package: wanted }: Options): string =>
  path.resolve(serviceDir, wanted ?? '.serverless');

/**
 * Writes a zip for each function to where the core of `serverless` finds it, so that the core makes none of its own.
 */
export const writePackages = async (serverless: Serverless, options: Options, read: Read): Promise<void> => {
  const { service } = serverless;
  const folder = folderFor(serverless, options);
  await mkdir(folder, { recursive: true });
  // Functions of one app share one source file, and therefore one bundle.
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
  Promise.all(
    serverless.service
      .getAllFunctions()
      .map(async (name) => ({ name, zip: await readFile(path.join(folderFor(serverless, options), `${name}.zip`)) })),
  );

/** Returns the payload for a function: `--data`, or the content of the file in `--path`, parsed if it is JSON. */
export const readPayload = ({ serviceDir }: Serverless, { data, path: file }: Options): unknown =>
  parseJsonOrText(data ?? (file === undefined ? '{}' : readFileSync(path.resolve(serviceDir, file), 'utf8')));

/** Runs the bundle that would be deployed in this process, with the caller's own credentials. */
export const invokeBundleLocally = async (
  serverless: Serverless,
  name: string,
  cloud: DeployableCloud,
  { environmentOf }: PreparedDeployment,
  payload: unknown,
): Promise<unknown> => {
  const folder = await bundled(serverless, name, cloud);
  setFunctionEnvironment(environmentOf(name));
  const exported: unknown = createRequire(import.meta.url)(path.join(folder, 'index.js'));
  const { name: handler } = sourceOf(serverless.service.getFunction(name));
  return cloud.invokeLocally(
    typeof exported === 'object' && exported !== null ? Reflect.get(exported, handler) : undefined,
    payload,
  );
};
