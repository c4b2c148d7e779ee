import { existsSync } from 'node:fs';
import { z } from 'zod';
import { cloudNames } from '../../app/clouds.ts';
import type { BenchedCloud } from './functions.ts';

/** The clouds whose functions are measured: those with a file `<cloud>-functions.ts`. */
export const benchedClouds = cloudNames.filter((name) => existsSync(new URL(`${name}-functions.ts`, import.meta.url)));

const benchedModule = z.object({
  benched: z.custom<BenchedCloud>((value) => typeof value === 'object' && value !== null),
});

export const loadBenched = async (cloud: string): Promise<BenchedCloud> =>
  benchedModule.parse(await import(`./${cloud}-functions.ts`)).benched;
