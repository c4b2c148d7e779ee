import { checkLine, type Diagnosis } from '../../providers/check.ts';
import { doctor as diagnose, isFailing, type DoctorAnswer } from '../doctor.ts';
import type { DoctorWiring } from '../wiring.ts';
import { lambda, type LambdaFunction } from './lambda.ts';
import { wireOnce } from './wire.ts';

/** What is not well, a line each. It has no stack: Lambda would hand that to whoever asked. */
const failing = ({ checks }: Diagnosis): Error => {
  const wrong = checks.filter(({ verdict }) => verdict !== 'ok');
  const error = new Error(
    `a fence would not work; of ${checks.length} checks ${wrong.length} are not well:\n${wrong.map(checkLine).join('\n')}`,
  );
  error.name = 'ChecksFailed';
  error.stack = '';
  return error;
};

/** Lambda has no status but that of a function that threw: all checks are in the log then. */
export const doctor = (wired: () => Promise<DoctorWiring>): LambdaFunction<DoctorAnswer> => {
  const answering = lambda(diagnose(wired));
  return async (event, limit) => {
    const answer = await answering(event, limit);
    if (!isFailing(answer)) return answer;
    console.log(JSON.stringify(answer));
    throw failing(answer);
  };
};

export const handler = doctor(wireOnce());
