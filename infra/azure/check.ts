import type { Configuration } from '../../wiring/schema.ts';
import { configurationIn, halvesOf, parameterFaults } from '../serverless/install-check.ts';
import type { Written } from '../serverless/written.ts';
import { azureParameters, settingNames, type AzureParameters } from './parameter-schema.ts';

export interface CheckedInstall {
  readonly parameters: AzureParameters;
  /** The configuration of the functions, as JSON. */
  readonly settings: string;
  readonly configuration: Configuration;
}

export type Checked = { readonly faults: readonly string[]; readonly install: null } | { readonly faults: readonly []; readonly install: CheckedInstall };

/** A deployed function has no files, and its settings are there for many to read: they name secrets and hold none. */
const clusterFaults = ({ clusters }: Configuration): readonly string[] => {
  if (clusters.length === 0) return ['clusters: name at least one, in stages/<stage>.azure.yml or with --param; without any nothing can be fenced'];
  return clusters.flatMap((cluster, at) => ('aks' in cluster || 'keyVault' in cluster ? [] : [`clusters.${at}: a function on Azure finds a cluster by \`aks\`, or reads a kubeconfig from \`keyVault\``]));
};

/** Names of storage accounts have 24 characters, of which a stage gets 14. */
const stageFaults = (stage: string): readonly string[] =>
  /^[a-z][a-z0-9-]{0,13}$/.test(stage) && !stage.endsWith('-') ? [] : [`stage: "${stage}" has to begin with a letter, to consist of up to 14 small letters, digits and hyphens, and not to end with a hyphen`];

/** All that is wrong at once. */
export const checkInstall = (stage: string, written: Written): Checked => {
  const { settings, parameters } = halvesOf(written, settingNames);
  const { configuration, faults } = configurationIn(settings);
  const { data, error } = azureParameters.safeParse(parameters);
  const all = [...stageFaults(stage), ...parameterFaults(error), ...faults, ...(configuration ? clusterFaults(configuration) : [])];
  return data && configuration && all.length === 0 ? { faults: [], install: { parameters: data, settings, configuration } } : { faults: all, install: null };
};
