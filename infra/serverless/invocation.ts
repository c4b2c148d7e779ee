import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { jsonOrText } from '../../fencing/model/outside-data.ts';
import { liveAsFunction } from '../../config/environment.ts';
import { bundled, sourceOf } from './cloud-packages.ts';
import type { DeployableCloud, Prepared } from './deployer.ts';
import type { Options, Serverless } from './service.ts';

/** What a person wants a function to be called with: `--data`, or the file of `--path`, as JSON if it is any. */
export const payloadOf = ({ serviceDir }: Serverless, { data, path: file }: Options): unknown =>
  jsonOrText(data ?? (file === undefined ? '{}' : readFileSync(path.resolve(serviceDir, file), 'utf8')));

/** The bundle that would be deployed, in this process and with the caller's own credentials. */
export const invokedLocally = async (serverless: Serverless, name: string, cloud: DeployableCloud, { environmentOf }: Prepared, payload: unknown): Promise<unknown> => {
  const folder = await bundled(serverless, name, cloud);
  liveAsFunction(environmentOf(name));
  const exported: unknown = createRequire(import.meta.url)(path.join(folder, 'index.js'));
  const { name: handler } = sourceOf(serverless.service.getFunction(name));
  return cloud.invokeLocally(typeof exported === 'object' && exported !== null ? Reflect.get(exported, handler) : undefined, payload);
};
