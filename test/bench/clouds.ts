import type { BenchedCloud } from './functions.ts';

/** The clouds whose functions are measured. */
export const benchedClouds: Readonly<Record<string, () => Promise<BenchedCloud>>> = {
  aws: async () => (await import('./aws-functions.ts')).awsFunctions,
  gcp: async () => (await import('./gcp-functions.ts')).gcpFunctions,
  azure: async () => (await import('./azure-functions.ts')).azureFunctions,
};
