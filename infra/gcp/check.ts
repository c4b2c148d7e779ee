import type { z } from 'zod';
import { InvalidConfiguration } from '../../fencing/errors.ts';
import { parseConfiguration } from '../../wiring/load.ts';
import type { Configuration } from '../../wiring/schema.ts';
import type { Written } from '../serverless/written.ts';
import { gcpParameters, settingNames, type GcpParameters } from './parameter-schema.ts';

export interface CheckedInstall {
  readonly parameters: GcpParameters;
  /** The configuration of the functions, as JSON. */
  readonly settings: string;
  readonly configuration: Configuration;
}

export type Checked = { readonly faults: readonly string[]; readonly install: null } | { readonly faults: readonly []; readonly install: CheckedInstall };

const isSetting = (name: string): boolean => settingNames.some((setting) => setting === name);

const only = (written: Written, wanted: (name: string) => boolean): Written =>
  Object.fromEntries(Object.entries(written).filter(([name, value]) => wanted(name) && !(value === null && isSetting(name))));

const parameterFaults = (error: z.ZodError | undefined): readonly string[] =>
  (error?.issues ?? []).map(({ path, message }) => `${path.map(String).join('.') || 'parameters'}: ${message}`);

/** A deployed function has no files, and its configuration is there for many to read: it names secrets and holds none. */
const clusterFaults = ({ clusters }: Configuration): readonly string[] => {
  if (clusters.length === 0) return ['clusters: name at least one, in stages/<stage>.gcp.yml or with --param; without any nothing can be fenced'];
  return clusters.flatMap((cluster, at) => ('gke' in cluster || 'secretManager' in cluster ? [] : [`clusters.${at}: a function on Google Cloud finds a cluster by \`gke\`, or reads a kubeconfig from \`secretManager\``]));
};

const read = (settings: string): { readonly configuration: Configuration | null; readonly faults: readonly string[] } => {
  try {
    const configuration = parseConfiguration(settings, 'configuration');
    return { configuration, faults: clusterFaults(configuration) };
  } catch (error) {
    if (error instanceof InvalidConfiguration) return { configuration: null, faults: error.faults };
    throw error;
  }
};

/** `cloudfence-<stage>-push` has at most 30 characters: https://cloud.google.com/iam/docs/service-accounts-create */
const stageFaults = (stage: string): readonly string[] =>
  /^[a-z][a-z0-9-]{0,13}$/.test(stage) ? [] : [`stage: "${stage}" has to begin with a letter and consist of up to 14 small letters, digits and hyphens`];

/** All that is wrong at once. */
export const checkInstall = (stage: string, written: Written): Checked => {
  const settings = JSON.stringify(only(written, isSetting));
  const { configuration, faults } = read(settings);
  const { data, error } = gcpParameters.safeParse(only(written, (name) => !isSetting(name)));
  const all = [...stageFaults(stage), ...parameterFaults(error), ...faults];
  return data && configuration && all.length === 0 ? { faults: [], install: { parameters: data, settings, configuration } } : { faults: all, install: null };
};
