import { CloudfenceError } from '../../fencing/model/errors.ts';
import {
  deployableNames,
  loadDeployable,
  type DeployableCloud,
  parametersFromCommandLine,
  parametersFromFile,
  type PreparedDeployment,
  type PackagedFunction,
} from './deployer.ts';
import { forceRemoveOption, guardRemoval, FENCES_QUESTION } from './removal-guard.ts';
import type { Hooks, Options, Serverless, Writers, FunctionConfig } from './service.ts';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import { setFunctionEnvironment } from '../../config/environment.ts';
import { parseJsonOrText } from '../../fencing/model/json-text.ts';
import { bundleFunction } from './bundle.ts';

const stageOf = ({ service: { provider } }: Serverless, { stage }: Options): string => stage ?? provider.stage ?? 'dev';

const cloudOf = async ({ service, classes }: Serverless): Promise<DeployableCloud> => {
  const { name } = service.provider;
  const cloud = await loadDeployable(name);
  if (cloud === null)
    throw new classes.Error(`"${name}" is not a supported cloud: use one of ${deployableNames.join(', ')}`);
  return cloud;
};

interface Opened {
  readonly cloud: DeployableCloud;
  readonly prepared: PreparedDeployment;
}

/**
 * Reads and checks the parameters of the stage.
 * @throws with all faults of the parameters together
 */
const opened = async (serverless: Serverless, options: Options): Promise<Opened> => {
  const { serviceDir, service, classes } = serverless;
  const cloud = await cloudOf(serverless);
  const stage = stageOf(serverless, options);
  const written = {
    ...parametersFromFile(serviceDir, cloud.defaults),
    ...parametersFromFile(serviceDir, `stages/${stage}.${service.provider.name}.yml`),
    ...parametersFromCommandLine(options.param ?? []),
  };
  const prepared = cloud.prepare({ service: service.service, stage, written });
  if (prepared.faults.length > 0)
    throw new classes.Error(
      'Cloudfence did nothing, because the parameters are not ' +
        `valid:\n${prepared.faults.map((fault) => `  - ${fault}`).join('\n')}`,
    );
  return { cloud, prepared };
};

const commands = {
  deploy: {
    options: {
      preview: { usage: 'Show what the deployment would change, without changing anything', type: 'boolean' },
    },
  },
  remove: { options: { 'force-remove': forceRemoveOption } },
  logs: {
    usage: 'Show the latest log lines of a function',
    lifecycleEvents: ['logs'],
    options: { function: { usage: 'The name of the function', shortcut: 'f', required: true, type: 'string' } },
  },
};

/**
 * Reports a cloud's refusal or missing answer in one sentence, because the stack does not help the person who deploys.
 */
const inWords =
  ({ classes }: Serverless, act: () => void | Promise<void>) =>
  async (): Promise<void> => {
    try {
      await act();
    } catch (error) {
      throw error instanceof CloudfenceError ? new classes.Error(error.message) : error;
    }
  };

const hooksOf = (serverless: Serverless, options: Options, writers: Writers): Hooks => {
  const say = (line: string): void => writers.log.notice(line);
  const write = (answer: unknown): void =>
    writers.writeText?.(typeof answer === 'string' ? answer : JSON.stringify(answer, null, 2));
  const open = () => opened(serverless, options);
  const named = (): string => options.function ?? '';
  return {
    'before:package:createDeploymentArtifacts': async () => writePackages(serverless, options, (await open()).cloud),
    'deploy:deploy': async () => {
      const deployer = (await open()).prepared.open();
      if (!options.preview) return deployer.deploy(await readPackages(serverless, options), say);
      if (!deployer.preview) throw new serverless.classes.Error('this cloud does not support a preview');
      return deployer.preview(say);
    },
    'info:info': async () => write((await (await open()).prepared.open().info()).join('\n')),
    'logs:logs': async () => write((await (await open()).prepared.open().logs(named())).join('\n')),
    'invoke:invoke': async () => {
      const answer = await (await open()).prepared.open().invoke(named(), readPayload(serverless, options));
      if (answer === undefined)
        throw new serverless.classes.Error(`the function ${named()} does not exist: deploy first`);
      write(answer);
    },
    'invoke:local:invoke': async () => {
      const { cloud, prepared } = await open();
      write(await invokeBundleLocally(serverless, named(), cloud, prepared, readPayload(serverless, options)));
    },
    'remove:remove': async () => {
      const deployer = (await open()).prepared.open();
      const doctor = { name: 'doctor', ask: () => deployer.invoke('doctor', FENCES_QUESTION) };
      await guardRemoval(doctor, serverless, options, writers);
      await deployer.remove(say);
    },
  };
};

/** A plugin of `serverless`: the provider for clouds that it does not support. `deployer.ts` finds them. */
export default function cloudProvider(serverless: Serverless, options: Options, writers: Writers): object {
  const { name } = serverless.service.provider;
  serverless.setProvider(name, { getStage: () => stageOf(serverless, options) });
  serverless.configSchemaHandler.defineProvider(name, { function: { properties: { handler: { type: 'string' } } } });
  const hooks = Object.entries(hooksOf(serverless, options, writers)).map(([when, act]) => [
    when,
    inWords(serverless, act),
  ]);
  return { commands, hooks: Object.fromEntries(hooks) };
}

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
const writePackages = async (serverless: Serverless, options: Options, read: Read): Promise<void> => {
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

const readPackages = (serverless: Serverless, options: Options): Promise<readonly PackagedFunction[]> =>
  Promise.all(
    serverless.service
      .getAllFunctions()
      .map(async (name) => ({ name, zip: await readFile(path.join(folderFor(serverless, options), `${name}.zip`)) })),
  );

/** Returns the payload for a function: `--data`, or the content of the file in `--path`, parsed if it is JSON. */
export const readPayload = ({ serviceDir }: Serverless, { data, path: file }: Options): unknown =>
  parseJsonOrText(data ?? (file === undefined ? '{}' : readFileSync(path.resolve(serviceDir, file), 'utf8')));

/** Runs the bundle that would be deployed in this process, with the caller's own credentials. */
const invokeBundleLocally = async (
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
