import { diagnose as diagnoseWith, type DiagnoseResult } from '../diagnose.ts';
import type { NamingDependencies } from '../dependencies.ts';
import { handlerWithDoctor, type LambdaFunction } from './lambda.ts';
import { lazyDependencies } from './dependencies.ts';

/**
 * Says why pods wait for their volumes: `{"target": "pod/prod/db-0"}`, or shows the state of every cluster:
 * `{"question": "status"}`. Its role only allows reads.
 */
export const diagnose = (getDependencies: () => Promise<NamingDependencies>): LambdaFunction<DiagnoseResult> =>
  diagnoseWith(getDependencies);

export const handler = handlerWithDoctor(lazyDependencies(), diagnose, false);
