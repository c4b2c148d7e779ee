import { readFile } from 'node:fs/promises';
import { InvalidConfiguration } from '../fencing/model/errors.ts';
import type { Environment } from './environment.ts';
import { configuration, type Configuration, parseConfiguration } from './schema.ts';

/** What a person said on the command line; it wins over the file, and the file over the environment. */
export interface Flags {
  readonly config?: string;
  readonly cloud?: string;
  readonly region?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

const noFlags: Flags = {};

/** It becomes a part of a host's name. */
const REGION = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** @throws InvalidConfiguration with all faults at once */
export const loadSettings = async (environment: Environment, flags: Flags = noFlags): Promise<Configuration> => {
  const path = flags.config ?? environment.config;
  const written =
    path === null ? configuration.parse({}) : parseConfiguration(await fileText(path, 'the configuration'), path);
  const region = flags.region ?? written.region ?? environment.region;
  if (region !== null && !REGION.test(region))
    throw new InvalidConfiguration([`"${region.slice(0, SHOWN)}" is no name of a region, such as eu-west-1`]);
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
  return [
    {
      name: flags.context ?? 'default',
      kubeconfig,
      ...(flags.context === undefined ? {} : { context: flags.context }),
    },
  ];
};

/**
 * Paths of the kubeconfig files that are meant, as in KUBECONFIG. @throws InvalidConfiguration when nothing says where
 * one is
 */
export const kubeconfigFiles = (environment: Environment, flags: Pick<Flags, 'kubeconfig'>): string => {
  const files =
    flags.kubeconfig ??
    environment.kubeconfig ??
    (environment.home === null ? null : `${environment.home}/.kube/config`);
  if (files === null)
    throw new InvalidConfiguration([
      'no cluster: give --kubeconfig, set KUBECONFIG, or write `clusters` into the configuration file',
    ]);
  return files;
};

/** As people say it; of other codes the system's own words. https://nodejs.org/api/errors.html#common-system-errors */
const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder: name a file',
  ENOTDIR: 'a part of that path is no folder',
  EACCES: 'you may not read it',
  ENAMETOOLONG: 'no file has so long a name',
  ERR_FS_FILE_TOO_LARGE: 'it is too large',
  ERR_INVALID_ARG_VALUE: 'no file has such a name',
};

const SHOWN = 200;

/** Why a file cannot be read, in words: `what` it was to be, which file, and what is wrong with that. */
export const whyUnreadable = (path: string, what: string, error: unknown): string => {
  const { code = '', message = String(error) }: { readonly code?: unknown; readonly message?: string } =
    error instanceof Error ? error : {};
  return `${what} ${path.length > SHOWN ? `${path.slice(0, SHOWN)}…` : path} cannot be read: ${unreadable[String(code)] ?? message}`;
};

/** @throws InvalidConfiguration when the file cannot be read */
export const fileText = async (path: string, what: string): Promise<string> => {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new InvalidConfiguration([whyUnreadable(path, what, cause)], { cause });
  }
};
