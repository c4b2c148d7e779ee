import type { DeployableCloud } from './deployer.ts';

/** The clouds that `serverless` does not support, by the name of their provider in a service's file. */
export const deployableClouds: Readonly<Record<string, () => Promise<DeployableCloud>>> = {
  azure: async () => (await import('../azure/cloud.ts')).azureDeployable,
  gcp: async () => (await import('../gcp/cloud.ts')).gcpDeployable,
};
