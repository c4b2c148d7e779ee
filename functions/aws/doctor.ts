import { counted } from '../../fencing/model/reason.ts';
import { checkLine, type Diagnosis } from '../../providers/check.ts';
import { doctor as diagnose, isFailing, type DoctorResult } from '../doctor.ts';
import type { DoctorDependencies } from '../dependencies.ts';
import { lambdaHandler, type LambdaFunction } from './lambda.ts';
import { lazyDependencies } from './dependencies.ts';

/**
 * Lists each check that is not ok, one per line. The error carries no stack, because Lambda would return it to the
 * caller.
 */
const failing = ({ checks }: Diagnosis): Error => {
  const wrong = checks.filter(({ verdict }) => verdict !== 'ok');
  const error = new Error(
    `a fence would not work: ${wrong.length} of ${counted(checks.length, 'check')} failed:\n${wrong.map(checkLine).join('\n')}`,
  );
  error.name = 'ChecksFailed';
  error.stack = '';
  return error;
};

/**
 * Runs the doctor in Lambda. Lambda has no status code: only a function that throws counts as failed. If a check fails,
 * this function logs all checks and throws.
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
