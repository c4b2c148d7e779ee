import { failureLine, sentenceOf } from '../decision-log.ts';
import { accessOf, type AccessAnswer } from '../doctor.ts';
import type { TimeLimit } from '../invocation.ts';
import type { DoctorWiring } from '../wiring.ts';

export type LambdaFunction<Answer> = (event: unknown, limit: TimeLimit) => Promise<Answer>;

/**
 * Returns a copy of the error without its stack, because Lambda returns the stack of a thrown error to the caller.
 * https://docs.aws.amazon.com/lambda/latest/dg/nodejs-exceptions.html
 */
const withoutStack = (error: unknown): Error => {
  const told = new Error(sentenceOf(error));
  told.name = error instanceof Error ? error.name : 'Error';
  told.stack = '';
  return told;
};

/** Wraps a function for Lambda. The caller gets an error as one sentence; the stack stays in the log. */
export const lambda =
  <Answer>(work: LambdaFunction<Answer>): LambdaFunction<Answer> =>
  async (event, limit) => {
    try {
      return await work(event, limit);
    } catch (error) {
      console.log(JSON.stringify(failureLine('invocation', error)));
      throw withoutStack(error);
    }
  };

/** Wraps a function that fences in the same way. It also answers the doctor's question about what its role permits. */
export const fencing = <Answer>(
  wired: () => Promise<DoctorWiring>,
  work: (wired: () => Promise<DoctorWiring>) => LambdaFunction<Answer>,
): LambdaFunction<Answer | AccessAnswer> =>
  lambda(async (event, limit) => (await accessOf(event, wired)) ?? work(wired)(event, limit));
