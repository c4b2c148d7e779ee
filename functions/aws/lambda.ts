import type { LambdaClient } from '@aws-sdk/client-lambda';
import { z } from 'zod';
import { CloudfenceError, Refused } from '../../fencing/model/errors.ts';
import { parseJsonOrNull } from '../../fencing/model/json-text.ts';
import { withCloudfenceErrors } from '../../providers/aws/errors.ts';
import { failureLine, publicMessage } from '../decision-log.ts';
import { type DoctorDependencies, type ExaminedFunction, memoized } from '../dependencies.ts';
import { answerAccessQuestion, type AccessReport } from '../doctor.ts';
import type { TimeLimit } from '../invocation.ts';

/** Functions on Lambda: how Lambda calls one, and how one asks another. */

export type LambdaFunction<Result> = (event: unknown, limit: TimeLimit) => Promise<Result>;

/**
 * Returns a copy of the error without its stack, because Lambda returns the stack of a thrown error to the caller. The
 * name is Lambda's `errorType`. A deployed class has no readable name of its own.
 * https://docs.aws.amazon.com/lambda/latest/dg/nodejs-exceptions.html
 */
const withoutStack = (error: unknown): Error => {
  const publicError = new Error(publicMessage(error));
  publicError.name = error instanceof CloudfenceError || !(error instanceof Error) ? 'CloudfenceError' : error.name;
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
      (await answerAccessQuestion(event, getDependencies, runsFences, limit)) ?? work(getDependencies)(event, limit),
  );

/**
 * Limits how long a fencing function may take to answer. It is shorter than the shortest function timeout, so that the
 * doctor can still report which function did not answer.
 */
const FENCER_ANSWERS_MS = 8_000;

const lambdaClient = async (region: string | null): Promise<LambdaClient> =>
  new (await import('@aws-sdk/client-lambda')).LambdaClient({
    region: region ?? '',
    // Without `throwOnRequestTimeout`, the SDK only logs a warning.
    requestHandler: { requestTimeout: FENCER_ANSWERS_MS, throwOnRequestTimeout: true },
    maxAttempts: 1,
  });

/** The payload that Lambda returns for a function that threw. */
const thrownPayload = z.object({ errorMessage: z.string() });

const askFunction = async (
  client: LambdaClient,
  name: string,
  question: object,
  abortSignal: AbortSignal,
): Promise<unknown> => {
  const { InvokeCommand } = await import('@aws-sdk/client-lambda');
  const answer = await withCloudfenceErrors(`lambda:InvokeFunction of ${name}`, () =>
    client.send(new InvokeCommand({ FunctionName: name, Payload: Buffer.from(JSON.stringify(question)) }), {
      abortSignal,
    }),
  );
  const payload = parseJsonOrNull(Buffer.from(answer.Payload ?? []).toString());
  if (answer.FunctionError === undefined) return payload;
  throw new Refused(
    `the function failed: ${thrownPayload.safeParse(payload).data?.errorMessage ?? answer.FunctionError}`,
  );
};

/** The names of the functions that fence, and of those that only read. */
interface FunctionNames {
  readonly fencers: readonly string[];
  readonly readers: readonly string[];
}

/** Returns the functions of this install that have their own roles, so that the doctor can ask them. */
export const functionsWithOwnRole = (
  region: string | null,
  { fencers, readers }: FunctionNames,
): Pick<DoctorDependencies, 'fencers' | 'readers'> => {
  const client = memoized(() => lambdaClient(region));
  const examined = (name: string): ExaminedFunction => ({
    name,
    ask: async (question, signal) => askFunction(await client(), name, question, signal),
  });
  return { fencers: fencers.map(examined), readers: readers.map(examined) };
};
