import type { z } from 'zod';
import { parseConfiguration } from '../../config/configuration-text.ts';
import type { Configuration } from '../../config/schema.ts';
import { InvalidConfiguration } from '../../fencing/model/errors.ts';
import type { ClusterEntry } from '../../providers/cluster-entries.ts';
import type { PreparedDeployment, RawParameters } from './deployer.ts';

/** What was written for an install on any cloud, in two halves: the configuration of the functions, and the rest. */
export interface SplitParameters {
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

export type ValidationResult<Parameters> =
  | { readonly faults: readonly string[]; readonly install: null }
  | { readonly faults: readonly []; readonly install: CheckedInstall<Parameters> };

export interface InstallRules<Parameters> {
  /** The cloud in the name of a stage's file: `stages/<stage>.<cloud>.yml`. */
  readonly cloud: string;
  readonly parameters: z.ZodType<Parameters>;
  readonly stageFaults: (stage: string) => readonly string[];
  /**
   * Reports whether a deployed function can reach the cluster. It has no files, and many people can read its settings,
   * which therefore name secrets and contain none.
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
      `clusters: add at least one cluster, in stages/<stage>.${cloud}.yml or with --param; without a cluster, Cloudfence can fence nothing`,
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
 * Returns the prepared install. With any fault, its other functions throw, because nothing may start or be deployed.
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
