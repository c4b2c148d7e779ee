import { existsSync } from 'node:fs';
import { z } from 'zod';
import { cloudNames } from '../../config/clouds.ts';
import type { DeployableCloud } from './deployer.ts';

const deployable = z.object({
  deployable: z.custom<DeployableCloud>((value) => typeof value === 'object' && value !== null),
});

/** The clouds that `serverless` does not support itself: those with a file `infra/<cloud>/cloud.ts`. */
export const deployableNames: readonly string[] = cloudNames.filter((name) =>
  existsSync(new URL(`../${name}/cloud.ts`, import.meta.url)),
);

/** Loads the cloud that a service's file names as its provider. Returns null if it is not one of them. */
export const loadDeployable = async (name: string): Promise<DeployableCloud | null> =>
  deployableNames.includes(name) ? deployable.parse(await import(`../${name}/cloud.ts`)).deployable : null;
