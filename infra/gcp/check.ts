import type { Configuration } from '../../wiring/schema.ts';
import { configurationIn, halvesOf, parameterFaults } from '../serverless/install-check.ts';
import type { Written } from '../serverless/written.ts';
import { gcpParameters, settingNames, type GcpParameters } from './parameter-schema.ts';

export interface CheckedInstall {
  readonly parameters: GcpParameters;
  /** The configuration of the functions, as JSON. */
  readonly settings: string;
  readonly configuration: Configuration;
}

export type Checked = { readonly faults: readonly string[]; readonly install: null } | { readonly faults: readonly []; readonly install: CheckedInstall };

/** A deployed function has no files, and its configuration is there for many to read: it names secrets and holds none. */
const clusterFaults = ({ clusters }: Configuration): readonly string[] => {
  if (clusters.length === 0) return ['clusters: name at least one, in stages/<stage>.gcp.yml or with --param; without any nothing can be fenced'];
  return clusters.flatMap((cluster, at) => ('gke' in cluster || 'secretManager' in cluster ? [] : [`clusters.${at}: a function on Google Cloud finds a cluster by \`gke\`, or reads a kubeconfig from \`secretManager\``]));
};

/** `cloudfence-<stage>-push` has at most 30 characters: https://cloud.google.com/iam/docs/service-accounts-create */
const stageFaults = (stage: string): readonly string[] =>
  /^[a-z][a-z0-9-]{0,13}$/.test(stage) ? [] : [`stage: "${stage}" has to begin with a letter and consist of up to 14 small letters, digits and hyphens`];

/** All that is wrong at once. */
export const checkInstall = (stage: string, written: Written): Checked => {
  const { settings, parameters } = halvesOf(written, settingNames);
  const { configuration, faults } = configurationIn(settings);
  const { data, error } = gcpParameters.safeParse(parameters);
  const all = [...stageFaults(stage), ...parameterFaults(error), ...faults, ...(configuration ? clusterFaults(configuration) : [])];
  return data && configuration && all.length === 0 ? { faults: [], install: { parameters: data, settings, configuration } } : { faults: all, install: null };
};
