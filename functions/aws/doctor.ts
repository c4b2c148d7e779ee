import { describeFailedChecks, type DoctorReport } from '../../providers/check.ts';
import { doctor as diagnose, isFailing, type DoctorResult } from '../doctor.ts';
import type { DoctorDependencies } from '../dependencies.ts';
import { lambdaHandler, type LambdaFunction } from './lambda.ts';
import { lazyDependencies } from './dependencies.ts';

/** The error contains no stack, because Lambda would return it to the caller. */
const failing = (diagnosis: DoctorReport): Error => {
  const error = new Error(describeFailedChecks(diagnosis.checks));
  error.name = 'ChecksFailed';
  error.stack = '';
  return error;
};

/**
 * Runs the doctor in Lambda. Lambda has no status code, so only a function that throws counts as failed. If a check
 * fails, this function logs all checks and throws.
 */
export const doctor = (getDependencies: () => Promise<DoctorDependencies>): LambdaFunction<DoctorResult> => {
  const answering = lambdaHandler(diagnose(getDependencies));
  return async (event, limit) => {
    const answer = await answering(event, limit);
    if (!isFailing(answer)) return answer;
    console.log(JSON.stringify(answer));
    throw failing(answer);
  };
};

export const handler = doctor(lazyDependencies());
