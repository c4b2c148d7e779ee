import * as install from '../serverless/checked-install.ts';
import type { Written } from '../serverless/written.ts';
import { azureParameters, type AzureParameters } from './parameter-schema.ts';

export type CheckedInstall = install.CheckedInstall<AzureParameters>;

/** Names of storage accounts have 24 characters, of which a stage gets 14. */
const stageFaults = (stage: string): readonly string[] =>
  /^[a-z][a-z0-9-]{0,13}$/.test(stage) && !stage.endsWith('-') ? [] : [`stage: "${stage}" has to begin with a letter, to consist of up to 14 small letters, digits and hyphens, and not to end with a hyphen`];

const rules: install.InstallRules<AzureParameters> = {
  cloud: 'azure',
  parameters: azureParameters,
  stageFaults,
  isReachable: (cluster) => 'aks' in cluster || 'keyVault' in cluster,
  waysIn: 'a function on Azure finds a cluster by `aks`, or reads a kubeconfig from `keyVault`',
};

/** All that is wrong at once. */
export const checkInstall = (stage: string, written: Written) => install.checkInstall(rules, stage, written);
