import { failureLine, publicMessage } from '../decision-log.ts';
import { answerAccessQuestion, type AccessReport } from '../doctor.ts';
import type { TimeLimit } from '../invocation.ts';
import type { DoctorDependencies } from '../dependencies.ts';

export type LambdaFunction<Result> = (event: unknown, limit: TimeLimit) => Promise<Result>;

/**
 * Returns a copy of the error without its stack, because Lambda returns the stack of a thrown error to the caller.
 * https://docs.aws.amazon.com/lambda/latest/dg/nodejs-exceptions.html
 */
const withoutStack = (error: unknown): Error => {
  const publicError = new Error(publicMessage(error));
  publicError.name = error instanceof Error ? error.name : 'Error';
  publicError.stack = '';
  return publicError;
};

/** Wraps a function for Lambda. The caller gets an error as one sentence; the stack stays in the log. */
export const lambdaHandler =
  <Result>(work: LambdaFunction<Result>): LambdaFunction<Result> =>
  async (event, limit) => {
    try {
      return await work(event, limit);
    } catch (error) {
      console.log(JSON.stringify(failureLine('invocation', error)));
      throw withoutStack(error);
    }
  };

/** Wraps a function in the same way. It also answers the doctor's question about what its role permits. */
export const handlerWithDoctor = <Result>(
  getDependencies: () => Promise<DoctorDependencies>,
  work: (getDependencies: () => Promise<DoctorDependencies>) => LambdaFunction<Result>,
  runsFences = true,
): LambdaFunction<Result | AccessReport> =>
  lambdaHandler(
    async (event, limit) =>
      (await answerAccessQuestion(event, getDependencies, runsFences)) ?? work(getDependencies)(event, limit),
  );
