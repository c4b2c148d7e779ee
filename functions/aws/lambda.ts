import { failureLine, sentenceOf } from '../decision-log.ts';
import { accessOf, type AccessAnswer } from '../doctor.ts';
import type { TimeLimit } from '../invocation.ts';
import type { DoctorWiring } from '../wiring.ts';

export type LambdaFunction<Answer> = (event: unknown, limit: TimeLimit) => Promise<Answer>;

/**
 * Lambda answers with the stack of what is thrown. https://docs.aws.amazon.com/lambda/latest/dg/nodejs-exceptions.html
 */
const withoutStack = (error: unknown): Error => {
  const told = new Error(sentenceOf(error));
  told.name = error instanceof Error ? error.name : 'Error';
  told.stack = '';
  return told;
};

/** A function as Lambda calls it: what went wrong is told in a sentence, and its stack stays in the log. */
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

/** The same of a function that fences: the doctor may ask it what its role lets it do. */
export const fencing = <Answer>(
  wired: () => Promise<DoctorWiring>,
  work: (wired: () => Promise<DoctorWiring>) => LambdaFunction<Answer>,
): LambdaFunction<Answer | AccessAnswer> =>
  lambda(async (event, limit) => (await accessOf(event, wired)) ?? work(wired)(event, limit));
