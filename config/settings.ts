import { readFile } from 'node:fs/promises';
import { InvalidConfiguration } from '../fencing/model/errors.ts';
import { quoteBeginning } from '../fencing/model/foreign-text.ts';
import { shorten } from '../fencing/model/reason.ts';
import { type Environment, isSet, readEnvironment, readVariable } from './environment.ts';
import { jsonOrNull, parseJsonOrNull } from '../fencing/model/json-text.ts';
import { configurationFrom, configurationSchema, type Configuration, REGION_PATTERN } from './schema.ts';

/** Options of the command line. They override the configuration file, and the file overrides the environment. */
export interface CommandLineFlags {
  readonly config?: string;
  readonly cloud?: string;
  readonly region?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

const noFlags: CommandLineFlags = {};

/**
 * Loads the settings from the command line, the configuration file, and the environment.
 * @throws InvalidConfiguration with all faults at once
 */
export const loadSettings = async (
  environment: Environment,
  flags: CommandLineFlags = noFlags,
): Promise<Configuration> => {
  const settings = await loadWithoutClusters(environment, flags);
  return { ...settings, clusters: clustersFrom(settings, environment, flags) };
};

/** Loads the settings of a command that needs no cluster. @throws InvalidConfiguration with all faults at once */
export const loadWithoutClusters = async (
  environment: Environment,
  flags: CommandLineFlags,
): Promise<Configuration> => {
  const path = flags.config ?? environment.config;
  const written =
    path === null ? configurationSchema.parse({}) : await parseText(await readText(path, 'the configuration'), path);
  const region = flags.region ?? written.region ?? environment.region;
  if (region !== null && !REGION_PATTERN.test(region))
    throw new InvalidConfiguration([`${quoteBeginning(region)} is not a region: write one such as eu-west-1`]);
  const cloud = flags.cloud ?? written.cloud;
  return {
    ...written,
    ...(cloud === undefined ? {} : { cloud }),
    ...(region === null ? {} : { region }),
  };
};

/**
 * Loads the settings of a function. A deployed function gets its configuration in a variable, as JSON or YAML. On a
 * laptop, it uses the settings of the CLI.
 * @throws InvalidConfiguration with all faults at once
 */
export const loadFunctionSettings = async (): Promise<Configuration> => {
  const text = readVariable(SETTINGS);
  if (text === null) return isSet(SETTINGS) ? configurationFrom(null, SETTINGS) : loadSettings(readEnvironment());
  const json = parseJsonOrNull(text);
  const written = jsonOrNull(json);
  if (written === null)
    throw new InvalidConfiguration([`${SETTINGS}: is nested too deeply: write it as in docs/configuration.md`]);
  return written === text ? configurationFrom(json, SETTINGS) : parseText(text, SETTINGS);
};

/**
 * Parses a text that a person wrote: YAML, or JSON in another form than the deployment's. The YAML parser is loaded
 * only in this case. It also rejects duplicate keys.
 */
const parseText = async (text: string, source: string): Promise<Configuration> =>
  (await import('./configuration-text.ts')).parseConfiguration(text, source);

const SETTINGS = 'CLOUDFENCE_SETTINGS';

/**
 * Returns the clusters to work with. A kubeconfig or a context on the command line selects the only cluster. Otherwise,
 * the clusters of the configuration are used. If it contains none, the usual kubeconfig selects the only cluster.
 */
const clustersFrom = (
  written: Configuration,
  environment: Environment,
  flags: CommandLineFlags,
): Configuration['clusters'] => {
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
 * Returns the paths of the kubeconfig files to use, in the format of KUBECONFIG.
 * @throws InvalidConfiguration if no kubeconfig is found
 */
export const kubeconfigFiles = (environment: Environment, flags: Pick<CommandLineFlags, 'kubeconfig'>): string => {
  const files =
    flags.kubeconfig ??
    environment.kubeconfig ??
    (environment.home === null ? null : `${environment.home}/.kube/config`);
  if (files === null)
    throw new InvalidConfiguration([
      'no cluster is configured: give --kubeconfig, set KUBECONFIG, or add `clusters` to the configuration file',
    ]);
  return files;
};

/**
 * Error codes as plain text. For other codes, the message uses the system's text.
 * https://nodejs.org/api/errors.html#common-system-errors
 */
const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'the file does not exist',
  EISDIR: 'it is a directory: name a file',
  ENOTDIR: 'a part of the path is not a directory',
  EACCES: 'you do not have permission to read it',
  ENAMETOOLONG: 'the name is too long',
  ERR_FS_FILE_TOO_LARGE: 'it is too large',
  ERR_INVALID_ARG_VALUE: 'the name is not valid',
};

const LONGEST_SHOWN = 200;
/** Names of files and folders are shorter (characters). A longer one may be a token. */
const LONGEST_NAME = 64;

const hasLongName = (path: string): boolean => path.split(/[/\\]/).some((name) => name.length > LONGEST_NAME);

/**
 * Returns a path for a message. Hides a text that is not a path, because it may be a token, or the content of a file
 * with one.
 */
export const shownPath = (path: string): string => {
  if (isContent(path)) return `(a text of ${path.length} characters in place of a path)`;
  return hasLongName(path) ? quoteBeginning(path) : shorten(path, LONGEST_SHOWN);
};

/** Returns whether a text is the content of a file, and not a path. */
export const isContent = (text: string): boolean => text.includes('\n') || text.trimStart().startsWith('{');

/** Describes why a file cannot be read: its purpose (`what`), its path, and the error. */
export const describeUnreadable = (path: string, what: string, error: unknown): string => {
  const { code = '', message = String(error) }: { readonly code?: unknown; readonly message?: string } =
    error instanceof Error ? error : {};
  return `${what} ${shownPath(path)} cannot be read: ${unreadable[String(code)] ?? message}`;
};

/** Reads the text of a file. @throws InvalidConfiguration if the file cannot be read */
export const readText = async (path: string, what: string): Promise<string> => {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new InvalidConfiguration([describeUnreadable(path, what, cause)], { cause });
  }
};
