import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { z } from 'zod';
import { bundleFunction } from '../infra/serverless/bundle.ts';
import { loadDeployable, type DeployableCloud, parametersFromFile } from '../infra/serverless/deployer.ts';
import { zipFiles } from '../infra/serverless/cloud-provider.ts';
import { repositoryRoot } from './bundle.ts';
import { foldersIn } from './libraries.ts';
import { PLACEHOLDER, releasedStack } from '../infra/serverless/released-stack.ts';

/**
 * Writes the installable files of a release: the functions of each cloud as zips, with their template, and the Helm
 * chart.
 */

const service = z.object({
  provider: z.object({ name: z.string() }),
  functions: z.record(z.string(), z.object({ handler: z.string() })),
});

export interface ReleasedService {
  readonly cloud: string;
  /** Null for the cloud that `serverless` supports itself. */
  readonly deployable: DeployableCloud | null;
  /** The source files of its functions. Functions of one app share one file. */
  readonly sources: readonly string[];
}

const serviceIn = async (file: string): Promise<ReleasedService> => {
  const { provider, functions } = service.parse(
    parse(await readFile(path.join(repositoryRoot, file), 'utf8'), { logLevel: 'error' }),
  );
  const sources = Object.values(functions).map(({ handler }) => `${handler.slice(0, handler.lastIndexOf('.'))}.ts`);
  return {
    cloud: provider.name,
    deployable: await loadDeployable(provider.name),
    sources: [...new Set(sources)],
  };
};

export const releasedServices = async (): Promise<readonly ReleasedService[]> =>
  Promise.all(
    (await readdir(repositoryRoot))
      .filter((file) => /^serverless.*\.yml$/.test(file))
      .sort()
      .map(serviceIn),
  );

const nameOf = (source: string): string => path.basename(source, '.ts');

/**
 * Returns the folder inside the zip. `serverless` keeps the folder of a bundle in its zip, and the handler's name
 * includes it.
 */
const folderInZip = (name: string, { deployable }: ReleasedService): string =>
  deployable === null ? `dist/functions/${name}/` : '';

const zipOf = async (folder: string, within: string): Promise<Buffer> =>
  zipFiles(
    await Promise.all(
      (await readdir(folder)).map(async (name) => ({
        name: `${within}${name}`,
        bytes: await readFile(path.join(folder, name)),
      })),
    ),
  );

/**
 * Writes the zips of a service.
 * @returns the folders of the libraries in them
 */
export const writeZips = async (released: ReleasedService, into: string): Promise<readonly string[]> => {
  const work = await mkdtemp(path.join(tmpdir(), 'cloudfence-functions-'));
  const libraries: string[] = [];
  await mkdir(into, { recursive: true });
  for (const source of released.sources) {
    const name = nameOf(source);
    const folder = path.join(work, name);
    libraries.push(...foldersIn(await bundleFunction(repositoryRoot, source, folder)));
    const { deployable } = released;
    const own: Readonly<Record<string, string>> =
      deployable === null ? {} : { ...deployable.files, 'package.json': `${JSON.stringify(deployable.manifest)}\n` };
    await Promise.all(Object.entries(own).map(([file, text]) => writeFile(path.join(folder, file), text)));
    await writeFile(path.join(into, `${name}.zip`), await zipOf(folder, folderInZip(name, released)));
  }
  await rm(work, { recursive: true });
  return libraries;
};

export const writeDocument = async ({ deployable }: ReleasedService, into: string): Promise<void> => {
  if (deployable === null) return;
  const { file, content } = await deployable.released(parametersFromFile(repositoryRoot, deployable.defaults));
  await writeFile(path.join(into, file), `${JSON.stringify(content, null, 2)}\n`);
};

const CLUSTERS = JSON.stringify([{ name: 'placeholder', secret: 'placeholder' }]);

/** Writes the CloudFormation template: the output of `serverless package`, with parameters instead of a stage file. */
export const writeStack = async (version: string, into: string): Promise<void> => {
  const work = await mkdtemp(path.join(tmpdir(), 'cloudfence-stack-'));
  const options = [
    'package',
    '--stage',
    PLACEHOLDER.stage,
    '--region',
    PLACEHOLDER.region,
    '--param',
    `clusters=${CLUSTERS}`,
    '--package',
    work,
  ];
  await promisify(execFile)(
    process.execPath,
    [path.join(repositoryRoot, 'node_modules/serverless/bin/serverless.js'), ...options],
    { cwd: repositoryRoot },
  );
  const packaged: unknown = JSON.parse(
    await readFile(path.join(work, 'cloudformation-template-update-stack.json'), 'utf8'),
  );
  await writeFile(
    path.join(into, 'cloudformation.json'),
    `${JSON.stringify(releasedStack(packaged, version), null, 2)}\n`,
  );
  await rm(work, { recursive: true });
};

const SOURCE = 'infra/kubernetes';
/** Helm uses the directory in the archive as the name of the chart. */
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

/** Returns the header of a file. Its fixed owner and time ensure that the same files always give the same bytes. */
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

/** Writes the Helm chart: `infra/kubernetes` unchanged, as an archive that helm can install. */
export const writeChart = async (file: string): Promise<void> => {
  const folder = path.join(repositoryRoot, SOURCE);
  const parts: Buffer[] = [];
  for (const name of await filesIn(folder)) {
    const bytes = await readFile(path.join(folder, name));
    parts.push(headerOf(`${DIRECTORY}/${name}`, bytes.length), padded(bytes));
  }
  await writeFile(file, gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]), { level: 9 }));
};
