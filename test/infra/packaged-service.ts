import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { z } from 'zod';

/** The service as `serverless package` builds it, in its own folder, without a network and without credentials. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const rooms = [
  'fencing',
  'diagnosis',
  'incidents',
  'providers',
  'kubernetes',
  'transport',
  'config',
  'app',
  'functions',
  'infra',
  'stages',
];
const services = readdirSync(root).filter((name) => /^serverless.*\.yml$/.test(name));

const template = z.object({
  Resources: z.record(
    z.string(),
    z.looseObject({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).default({}) }),
  ),
  Outputs: z.record(z.string(), z.unknown()),
});

export type PackagedTemplate = z.infer<typeof template>;

export interface Packaged {
  readonly code: number | null;
  readonly said: string;
  /** The folder with the template and the zips. */
  readonly folder: string;
}

export interface PackagedService {
  readonly folder: string;
  readonly package: (stage: string, ...options: readonly string[]) => Promise<Packaged>;
  /** Any other command, with the given variables. */
  readonly run: (
    args: readonly string[],
    variables: Readonly<Record<string, string>>,
  ) => Promise<Omit<Packaged, 'folder'>>;
  readonly close: () => Promise<void>;
}

/**
 * Where the tool keeps its own compiled code between runs. To compile takes half of a run, and the result is the same
 * for all.
 */
const kept = path.join(root, 'node_modules/.cache/serverless');

const serverless = async (
  folder: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<Omit<Packaged, 'folder'>> => {
  const env = {
    PATH: path.dirname(process.execPath),
    HOME: folder,
    NODE_COMPILE_CACHE: kept,
    SLS_SCHEMA_CACHE_BASE_DIR: kept,
    // The tool asks about the progress of a stack every five seconds. The stand-ins are done at once.
    SLS_AWS_MONITORING_FREQUENCY: '200',
    ...variables,
  };
  const child = spawn(process.execPath, [path.join(root, 'node_modules/serverless/bin/serverless.js'), ...args], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, said: `${out}${err}` };
};

/** `stages` are the files that a person would write into stages/. */
export const openService = async (stages: Readonly<Record<string, object>>): Promise<PackagedService> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-service-'));
  await Promise.all(
    [...rooms, ...services, 'package.json'].map((source) =>
      cp(path.join(root, source), path.join(folder, source), { recursive: true }),
    ),
  );
  await symlink(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  await mkdir(path.join(folder, 'stages'), { recursive: true });
  await Promise.all(
    Object.entries(stages).map(([name, written]) =>
      writeFile(path.join(folder, `stages/${name}.yml`), stringify(written)),
    ),
  );
  let count = 0;
  return {
    folder,
    package: async (stage, ...options) => {
      const out = path.join(folder, `packaged-${(count += 1)}`);
      return {
        ...(await serverless(folder, ['package', '--stage', stage, '--package', out, ...options])),
        folder: out,
      };
    },
    run: (args, variables) => serverless(folder, args, variables),
    close: () => rm(folder, { recursive: true }),
  };
};

export const templateIn = async ({ code, said, folder }: Packaged): Promise<PackagedTemplate> => {
  if (code !== 0) throw new Error(said);
  return template.parse(
    JSON.parse(await readFile(path.join(folder, 'cloudformation-template-update-stack.json'), 'utf8')),
  );
};
