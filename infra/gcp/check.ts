import * as install from '../serverless/checked-install.ts';
import type { Written } from '../serverless/written.ts';
import { gcpParameters, type GcpParameters } from './parameter-schema.ts';

export type CheckedInstall = install.CheckedInstall<GcpParameters>;

/** `cloudfence-<stage>-push` has at most 30 characters: https://cloud.google.com/iam/docs/service-accounts-create */
const stageFaults = (stage: string): readonly string[] =>
  /^[a-z][a-z0-9-]{0,13}$/.test(stage) ? [] : [`stage: "${stage}" has to begin with a letter and consist of up to 14 small letters, digits and hyphens`];

const rules: install.InstallRules<GcpParameters> = {
  cloud: 'gcp',
  parameters: gcpParameters,
  stageFaults,
  isReachable: (cluster) => 'gke' in cluster || 'secretManager' in cluster,
  waysIn: 'a function on Google Cloud finds a cluster by `gke`, or reads a kubeconfig from `secretManager`',
};

/** All that is wrong at once. */
export const checkInstall = (stage: string, written: Written) => install.checkInstall(rules, stage, written);
