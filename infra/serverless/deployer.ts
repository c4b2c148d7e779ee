import { readFileSync, existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import { checkSchema, describeFailedChecks } from '../../providers/check.ts';
import { cloudNames } from '../../app/clouds.ts';
import { parseConfiguration } from '../../config/configuration-text.ts';
import type { Configuration } from '../../config/schema.ts';
import { InvalidConfiguration } from '../../fencing/model/errors.ts';
import type { ClusterEntry } from '../../providers/cluster-entries.ts';

/** Names and values as they were written, before any check. */
export type RawParameters = Readonly<Record<string, unknown>>;

const file = z.record(z.string(), z.unknown()).nullable();
const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Returns the content of a YAML file, or nothing if there is no such file. */
export const parametersFromFile = (serviceDir: string, name: string): RawParameters => {
  try {
    return file.parse(parse(readFileSync(path.join(serviceDir, name), 'utf8'))) ?? {};
  } catch (error) {
    if (isMissing(error)) return {};
    throw error;
  }
};

/** Reads `--param='name=value'`. The value is YAML, so numbers, switches, and JSON keep their types. */
export const parametersFromCommandLine = (params: readonly string[]): RawParameters =>
  Object.fromEntries(
    params.map((param): [string, unknown] => {
      const at = param.indexOf('=');
      return [param.slice(0, at), parse(param.slice(at + 1))];
    }),
  );

/** The interface that each cloud other than AWS implements for the plugin. */

interface Deployment {
  readonly service: string;
  readonly stage: string;
  /** The defaults, the stage's file, and the command line, merged. */
  readonly written: RawParameters;
}

export interface PackagedFunction {
  readonly name: string;
  readonly zip: Buffer;
}

/** Reports what a command does while it runs. */
export type ReportProgress = (line: string) => void;

/** All calls can throw the errors of fencing/model/errors.ts. */
export interface Deployer {
  /** Creates everything that is missing and changes what differs. It leaves the rest as it is. */
  readonly deploy: (functions: readonly PackagedFunction[], say: ReportProgress) => Promise<void>;
  /** Reports what `deploy` would change, and changes nothing. Absent if the cloud cannot show that. */
  readonly preview?: (say: ReportProgress) => Promise<void>;
  /** Removes everything that `deploy` makes, and ignores what is already gone. */
  readonly remove: (say: ReportProgress) => Promise<void>;
  /** Describes what is deployed, line by line. */
  readonly info: () => Promise<readonly string[]>;
  /** Returns the function's answer, or undefined if there is no such function. */
  readonly invoke: (name: string, payload: unknown) => Promise<unknown>;
  /** Returns the function's latest log lines, oldest first. */
  readonly logs: (name: string) => Promise<readonly string[]>;
}

export interface PreparedDeployment {
  /** All faults of the parameters. With any fault, nothing is packaged or deployed. */
  readonly faults: readonly string[];
  /** Returns the environment of a function. */
  readonly environmentOf: (name: string) => Readonly<Record<string, string>>;
  readonly open: () => Deployer;
}

/** The file of a release with which people install a cloud without a checkout. */
interface ReleasedDocument {
  readonly file: string;
  readonly content: unknown;
}

export interface DeployableCloud {
  /** Checks the parameters, apart from the configuration of the functions. */
  readonly parameters: z.ZodType;
  /** The file with the defaults of all parameters, relative to the service's folder. */
  readonly defaults: string;
  /** The package.json in a function's zip, which the platform reads. */
  readonly manifest: object;
  /** Other files in the zip that the platform reads: texts by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Returns the document of a release. `defaults` are the defaults of all parameters. */
  readonly released: (defaults: RawParameters) => Promise<ReleasedDocument>;
  /** Pure: it uses no network and no credentials. */
  readonly prepare: (deployment: Deployment) => PreparedDeployment;
  /** Calls the handler of a bundle in this process, as the platform would. */
  readonly invokeLocally: (handler: unknown, payload: unknown) => Promise<unknown>;
}

/**
 * Waits between two looks at a deployment (ms). An emulator on this machine does not take minutes, so the wait is short
 * there.
 */
export const createPollDelay = (endpoint: string | null) => (ms: number) => delay(endpoint === null ? ms : 5);

const failedDiagnosis = z.object({
  verdict: z.literal('fail'),
  checks: z.array(checkSchema),
});

/**
 * Returns what a function answered with a status of failure, for people: the checks of the doctor that are not ok, one
 * per line, and any other answer as JSON.
 */
export const describeFunctionFailure = (body: unknown): string => {
  const diagnosis = failedDiagnosis.safeParse(body).data;
  return diagnosis ? describeFailedChecks(diagnosis.checks) : JSON.stringify(body);
};

const deployable = z.object({
  deployable: z.custom<DeployableCloud>((value) => typeof value === 'object' && value !== null),
});

/** The clouds that `serverless` does not support itself: those with a file `infra/<cloud>/cloud.ts`. */
export const deployableNames: readonly string[] = cloudNames.filter((name) =>
  existsSync(new URL(`../${name}/cloud.ts`, import.meta.url)),
);

/** Loads the cloud that a service's file names as its provider. Returns null if it is not one of them. */
export const loadDeployable = async (name: string): Promise<DeployableCloud | null> =>
  deployableNames.includes(name) ? deployable.parse(await import(`../${name}/cloud.ts`)).deployable : null;

/** What was written for an install on any cloud, in two halves: the configuration of the functions, and the rest. */
interface SplitParameters {
  /** The configuration as JSON. */
  readonly settings: string;
  readonly parameters: RawParameters;
}

export const splitParameters = (written: RawParameters, settingNames: readonly string[]): SplitParameters => {
  const isSetting = (name: string): boolean => settingNames.includes(name);
  const only = (wanted: (name: string) => boolean): RawParameters =>
    Object.fromEntries(
      Object.entries(written).filter(([name, value]) => wanted(name) && !(value === null && isSetting(name))),
    );
  return { settings: JSON.stringify(only(isSetting)), parameters: only((name) => !isSetting(name)) };
};

export const parameterFaults = (error: z.ZodError | undefined): readonly string[] =>
  (error?.issues ?? []).map(({ path, message }) => `${path.map(String).join('.') || 'parameters'}: ${message}`);

/** Returns the configuration, or null with all its faults if it cannot be used. */
export const configurationIn = (
  settings: string,
): { readonly configuration: Configuration | null; readonly faults: readonly string[] } => {
  try {
    return { configuration: parseConfiguration(settings, 'configuration'), faults: [] };
  } catch (error) {
    if (error instanceof InvalidConfiguration) return { configuration: null, faults: error.faults };
    throw error;
  }
};

/** An install on a cloud other than AWS that passed all checks. */
export interface CheckedInstall<Parameters> {
  readonly parameters: Parameters;
  /** The configuration of the functions as JSON. */
  readonly settings: string;
  readonly configuration: Configuration;
}

type ValidationResult<Parameters> =
  | { readonly faults: readonly string[]; readonly install: null }
  | { readonly faults: readonly []; readonly install: CheckedInstall<Parameters> };

export interface InstallRules<Parameters> {
  /** The cloud in the name of a stage's file: `stages/<stage>.<cloud>.yml`. */
  readonly cloud: string;
  readonly parameters: z.ZodType<Parameters>;
  readonly stageFaults: (stage: string) => readonly string[];
  /**
   * Reports whether a deployed function can reach the cluster. It has no files, and many people can read its settings,
   * so the settings name secrets but contain none.
   */
  readonly isReachable: (cluster: ClusterEntry) => boolean;
  /** Says in a sentence how a function connects to a cluster. */
  readonly waysIn: string;
}

/** Names that belong to the configuration of the functions and are checked by its own schema. */
const settingNames = ['clusters', 'policy', 'pause', 'shadow'] as const;

const clusterFaults = <Parameters>(
  { clusters }: Configuration,
  { cloud, isReachable, waysIn }: InstallRules<Parameters>,
): readonly string[] => {
  if (clusters.length === 0)
    return [
      `clusters: add at least one cluster, in stages/<stage>.${cloud}.yml or with --param; without a cluster, ` +
        'Cloudfence can fence nothing',
    ];
  return clusters.flatMap((cluster, at) => (isReachable(cluster) ? [] : [`clusters.${at}: ${waysIn}`]));
};

/** Checks the install and returns all faults together. */
export const checkInstall = <Parameters>(
  rules: InstallRules<Parameters>,
  stage: string,
  written: RawParameters,
): ValidationResult<Parameters> => {
  const { settings, parameters } = splitParameters(written, settingNames);
  const { configuration, faults } = configurationIn(settings);
  const { data, error } = rules.parameters.safeParse(parameters);
  const all = [
    ...rules.stageFaults(stage),
    ...parameterFaults(error),
    ...faults,
    ...(configuration ? clusterFaults(configuration, rules) : []),
  ];
  return data && configuration && all.length === 0
    ? { faults: [], install: { parameters: data, settings, configuration } }
    : { faults: all, install: null };
};

/**
 * Returns the prepared install. If there is a fault, its other functions throw, because nothing may be started or
 * deployed.
 */
export const prepareDeployment = <Parameters>(
  { faults, install }: ValidationResult<Parameters>,
  whenRight: (install: CheckedInstall<Parameters>) => Omit<PreparedDeployment, 'faults'>,
): PreparedDeployment => {
  if (install) return { faults, ...whenRight(install) };
  const refuse = (): never => {
    throw new InvalidConfiguration(faults);
  };
  return { faults, environmentOf: refuse, open: refuse };
};
