import { sweep } from '../sweep.ts';
import { fencingHandler } from './lambda.ts';
import { lazyDependencies } from './dependencies.ts';

export const handler = fencingHandler(lazyDependencies(), sweep);
