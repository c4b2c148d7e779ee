import type { AnswerJson } from '../../diagnosis/answer.ts';
import { diagnose as diagnoseWith } from '../diagnose.ts';
import type { NamingDependencies } from '../dependencies.ts';
import { lambdaHandler, type LambdaFunction } from './lambda.ts';
import { lazyDependencies } from './dependencies.ts';

/** Says why pods wait for their volumes: `{"target": "pod/prod/db-0"}`. Its role may only read. */
export const diagnose = (getDependencies: () => Promise<NamingDependencies>): LambdaFunction<AnswerJson> =>
  lambdaHandler(diagnoseWith(getDependencies));

export const handler = diagnose(lazyDependencies());
