import { readFile } from 'node:fs/promises';
import { InvalidConfiguration } from '../fencing/errors.ts';
import type { Environment } from './environment.ts';
import { parseConfiguration } from './load.ts';
import { configuration, type Configuration } from './schema.ts';

/** What a person said on the command line; it wins over the file, and the file over the environment. */
export interface Flags {
  readonly config?: string;
  readonly cloud?: string;
  readonly region?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

const noFlags: Flags = {};

/** @throws InvalidConfiguration with all faults at once */
export const loadSettings = async (environment: Environment, flags: Flags = noFlags): Promise<Configuration> => {
  const path = flags.config ?? environment.config;
  const written = path === null ? configuration.parse({}) : parseConfiguration(await fileText(path, 'the configuration'), path);
  const region = flags.region ?? written.region ?? environment.region;
  const cloud = flags.cloud ?? written.cloud;
  return {
    ...written,
    ...(cloud === undefined ? {} : { cloud }),
    ...(region === null ? {} : { region }),
    clusters: clustersFrom(written, environment, flags),
  };
};

/** A kubeconfig on the command line is the one cluster that is meant; without any, the usual one is. */
const clustersFrom = (written: Configuration, environment: Environment, flags: Flags): Configuration['clusters'] => {
  const named = flags.kubeconfig !== undefined || flags.context !== undefined;
  if (written.clusters.length > 0 && !named) return written.clusters;
  const kubeconfig = kubeconfigFiles(environment, flags);
  return [{ name: flags.context ?? 'default', kubeconfig, ...(flags.context === undefined ? {} : { context: flags.context }) }];
};

/** Paths of the kubeconfig files that are meant, as in KUBECONFIG. @throws InvalidConfiguration when nothing says where one is */
export const kubeconfigFiles = (environment: Environment, flags: Pick<Flags, 'kubeconfig'>): string => {
  const files = flags.kubeconfig ?? environment.kubeconfig ?? (environment.home === null ? null : `${environment.home}/.kube/config`);
  if (files === null) throw new InvalidConfiguration(['no cluster: give --kubeconfig, set KUBECONFIG, or write `clusters` into the configuration file']);
  return files;
};

/** @throws InvalidConfiguration when the file cannot be read */
export const fileText = async (path: string, what: string): Promise<string> => {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new InvalidConfiguration([`${what} ${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`], { cause });
  }
};
