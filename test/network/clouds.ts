import type { CloudStage, Start } from './stage.ts';

/** The clouds on which round trips are counted. */
const stages: Readonly<Record<string, () => Promise<(start: Start) => CloudStage>>> = {
  aws: async () => (await import('./aws-stage.ts')).awsStage,
  azure: async () => (await import('./azure-stage.ts')).azureStage,
  gcp: async () => (await import('./gcp-stage.ts')).gcpStage,
};

export const cloudNames = Object.keys(stages);

export const openStage = async (cloud: string, start: Start): Promise<CloudStage> => {
  const load = stages[cloud];
  if (!load) throw new Error(`no sandbox of ${cloud}: use one of ${cloudNames.join(', ')}`);
  return (await load())(start);
};
