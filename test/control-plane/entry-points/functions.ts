import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openService } from '../../infra/packaged-service.ts';
import { unzip } from '../../infra/unzip.ts';

/** The functions from the zips that `serverless package` builds: exactly what Lambda would run. */
export interface PackagedFunctions {
  readonly folder: string;
  readonly remove: () => Promise<void>;
}

const names = ['on-event', 'sweep'] as const;
export type FunctionName = (typeof names)[number];

/** The path of a function's handler, relative to the folder. */
export const entryOf = (folder: string, name: FunctionName): string =>
  join(folder, name, 'dist/functions', name, 'index.js');

export const packageFunctions = async (): Promise<PackagedFunctions> => {
  const folder = await mkdtemp(join(tmpdir(), 'cloudfence-functions-'));
  const service = await openService({});
  try {
    const { code, said, folder: zips } = await service.package('dev');
    if (code !== 0) throw new Error(said);
    await Promise.all(names.map((name) => unzip(join(zips, `${name}.zip`), join(folder, name))));
  } finally {
    await service.close();
  }
  return { folder, remove: () => rm(folder, { recursive: true }) };
};
