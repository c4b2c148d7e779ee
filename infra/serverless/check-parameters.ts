import type { Configuration } from '../../config/schema.ts';
import { deployableClusters, type DeployableCluster } from './cluster-access.ts';
import { configurationIn, halvesOf, parameterFaults } from './install-check.ts';
import { deploymentParameters, settingNames, type DeploymentParameters } from './parameter-schema.ts';
import type { Written } from './written.ts';

export type { Written };

export interface Checked {
  /** Null when there are faults. */
  readonly parameters: DeploymentParameters | null;
  readonly clusters: readonly DeployableCluster[];
  /** The configuration of the functions, as JSON. */
  readonly settings: string;
  /** Whether the policy ever stops a machine. */
  readonly powersOff: boolean;
  readonly territories: Configuration['territories'];
  readonly faults: readonly string[];
}

/** Lambda allows 4 KB for all variables of a function; the others take less than this leaves. */
const MOST_SETTINGS = 3_000;

const sizeFaults = (settings: string): readonly string[] =>
  settings.length > MOST_SETTINGS ? [`clusters, policy and territories: ${settings.length} bytes of configuration; a function holds ${MOST_SETTINGS}`] : [];

/** The policies of a role may have 10,240 characters in all, and each cluster takes some 1,000: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html */
const MOST_TAGGED_CLUSTERS = 6;

const tagFaults = (parameters: DeploymentParameters | null, clusters: readonly DeployableCluster[]): readonly string[] =>
  parameters?.onlyTagged === 'cluster' && clusters.length > MOST_TAGGED_CLUSTERS
    ? [`onlyTagged: a role holds conditions for ${MOST_TAGGED_CLUSTERS} clusters, and there are ${clusters.length}: give one tag of your own to their instances and volumes, and write it as key=value`]
    : [];

/** All that is wrong at once. What was written belongs to one stage: defaults, the stage's file and the command line as one. */
export const checkParameters = (written: Written): Checked => {
  const halves = halvesOf(written, settingNames);
  const { settings } = halves;
  const access = deployableClusters(written['clusters']);
  const { configuration, faults: configurationFaults } = configurationIn(settings);
  const { data: parameters = null, error } = deploymentParameters.safeParse(halves.parameters);
  const faults = [...parameterFaults(error), ...access.faults, ...tagFaults(parameters, access.clusters), ...sizeFaults(settings), ...configurationFaults];
  const powersOff = configuration?.policy.unreachable === 'power-off';
  return { parameters, clusters: access.clusters, settings, powersOff, territories: configuration?.territories ?? [], faults };
};
