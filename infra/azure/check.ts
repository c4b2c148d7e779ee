import type { z } from 'zod';
import { InvalidConfiguration } from '../../fencing/errors.ts';
import { parseConfiguration } from '../../wiring/load.ts';
import type { Configuration } from '../../wiring/schema.ts';
import type { Written } from '../serverless/written.ts';
import { azureParameters, settingNames, type AzureParameters } from './parameter-schema.ts';

export interface CheckedInstall {
  readonly parameters: AzureParameters;
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

/** A deployed function has no files, and its settings are there for many to read: they name secrets and hold none. */
const clusterFaults = ({ clusters }: Configuration): readonly string[] => {
  if (clusters.length === 0) return ['clusters: name at least one, in stages/<stage>.azure.yml or with --param; without any nothing can be fenced'];
  return clusters.flatMap((cluster, at) => ('aks' in cluster || 'keyVault' in cluster ? [] : [`clusters.${at}: a function on Azure finds a cluster by \`aks\`, or reads a kubeconfig from \`keyVault\``]));
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

/** Names of storage accounts have 24 characters, of which a stage gets 14. */
const stageFaults = (stage: string): readonly string[] =>
  /^[a-z][a-z0-9-]{0,13}$/.test(stage) && !stage.endsWith('-') ? [] : [`stage: "${stage}" has to begin with a letter, to consist of up to 14 small letters, digits and hyphens, and not to end with a hyphen`];

/** All that is wrong at once. */
export const checkInstall = (stage: string, written: Written): Checked => {
  const settings = JSON.stringify(only(written, isSetting));
  const { configuration, faults } = read(settings);
  const { data, error } = azureParameters.safeParse(only(written, (name) => !isSetting(name)));
  const all = [...stageFaults(stage), ...parameterFaults(error), ...faults];
  return data && configuration && all.length === 0 ? { faults: [], install: { parameters: data, settings, configuration } } : { faults: all, install: null };
};
