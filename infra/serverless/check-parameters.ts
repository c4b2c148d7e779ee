import type { z } from 'zod';
import { InvalidConfiguration } from '../../fencing/errors.ts';
import { parseConfiguration } from '../../wiring/load.ts';
import type { Configuration } from '../../wiring/schema.ts';
import { deployableClusters, type DeployableCluster } from './cluster-access.ts';
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

const isSetting = (name: string): boolean => settingNames.some((setting) => setting === name);

const only = (written: Written, wanted: (name: string) => boolean): Written =>
  Object.fromEntries(Object.entries(written).filter(([name, value]) => wanted(name) && !(value === null && isSetting(name))));

const read = (settings: string): Pick<Checked, 'powersOff' | 'territories' | 'faults'> => {
  try {
    const { policy, territories } = parseConfiguration(settings, 'configuration');
    return { powersOff: policy.unreachable === 'power-off', territories, faults: [] };
  } catch (error) {
    if (error instanceof InvalidConfiguration) return { powersOff: false, territories: [], faults: error.faults };
    throw error;
  }
};

const sizeFaults = (settings: string): readonly string[] =>
  settings.length > MOST_SETTINGS ? [`clusters, policy and territories: ${settings.length} bytes of configuration; a function holds ${MOST_SETTINGS}`] : [];

const parameterFaults = (error: z.ZodError | undefined): readonly string[] =>
  (error?.issues ?? []).map(({ path, message }) => `${path.map(String).join('.') || 'parameters'}: ${message}`);

/** All that is wrong at once. What was written belongs to one stage: defaults, the stage's file and the command line as one. */
export const checkParameters = (written: Written): Checked => {
  const settings = JSON.stringify(only(written, isSetting));
  const access = deployableClusters(written['clusters']);
  const configuration = read(settings);
  const { data: parameters = null, error } = deploymentParameters.safeParse(only(written, (name) => !isSetting(name)));
  const faults = [...parameterFaults(error), ...access.faults, ...sizeFaults(settings), ...configuration.faults];
  return { parameters, clusters: access.clusters, settings, powersOff: configuration.powersOff, territories: configuration.territories, faults };
};
