import { sweep } from '../sweep.ts';
import { examinedHandler } from './lambda.ts';
import { lazyDependencies } from './dependencies.ts';

export const handler = examinedHandler(lazyDependencies(), sweep);
