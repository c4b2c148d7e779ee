import { sweep } from '../sweep.ts';
import { handlerWithDoctor } from './lambda.ts';
import { lazyDependencies } from './dependencies.ts';

export const handler = handlerWithDoctor(lazyDependencies(), sweep);
