import { existsSync } from 'node:fs';
import { z } from 'zod';
import { cloudNames } from '../../app/clouds.ts';
import type { CloudSandbox, Start } from './cloud-sandbox.ts';

/** The clouds on which round trips are counted: those with a file `<cloud>-sandbox.ts`. */
export const countedClouds = cloudNames.filter((name) => existsSync(new URL(`${name}-sandbox.ts`, import.meta.url)));

const sandboxModule = z.object({
  openSandbox: z.custom<(start: Start) => CloudSandbox>((value) => typeof value === 'function'),
});

export const openSandbox = async (cloud: string, start: Start): Promise<CloudSandbox> =>
  sandboxModule.parse(await import(`./${cloud}-sandbox.ts`)).openSandbox(start);
