import type { Plugin } from 'esbuild';
import { slimAmazon } from './slim-amazon.ts';
import { slimGoogle } from './slim-google.ts';
import { slimKubernetes } from './slim-kubernetes.ts';
import { slimZod } from './slim-zod.ts';
import { withoutUndici } from './without-undici.ts';

/** What a bundle leaves out of the libraries: code for calls, models and languages that nothing of ours ever uses. */
export const slimLibraries: Plugin[] = [slimAmazon, slimGoogle, slimKubernetes, slimZod, withoutUndici];
