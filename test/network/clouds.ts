import { existsSync } from 'node:fs';
import { z } from 'zod';
import { cloudNames } from '../../app/clouds.ts';
import type { CloudStage, Start } from './stage.ts';

/** The clouds on which round trips are counted: those with a file `<cloud>-stage.ts`. */
export const stagedClouds = cloudNames.filter((name) => existsSync(new URL(`${name}-stage.ts`, import.meta.url)));

const stageModule = z.object({
  openStage: z.custom<(start: Start) => CloudStage>((value) => typeof value === 'function'),
});

export const openStage = async (cloud: string, start: Start): Promise<CloudStage> =>
  stageModule.parse(await import(`./${cloud}-stage.ts`)).openStage(start);
