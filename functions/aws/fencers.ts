import type { LambdaClient } from '@aws-sdk/client-lambda';
import { z } from 'zod';
import { Refused } from '../../fencing/errors.ts';
import { jsonIn } from '../../fencing/json-text.ts';
import { translated } from '../../providers/aws/errors.ts';
import type { Fencer } from '../fencers.ts';

/** What Lambda answers for a function that threw. */
const failed = z.object({ errorMessage: z.string() });

const asked = async (client: LambdaClient, name: string, question: object, abortSignal: AbortSignal): Promise<unknown> => {
  const { InvokeCommand } = await import('@aws-sdk/client-lambda');
  const answer = await translated(`lambda:InvokeFunction of ${name}`, () => client.send(new InvokeCommand({ FunctionName: name, Payload: Buffer.from(JSON.stringify(question)) }), { abortSignal }));
  const said = jsonIn(Buffer.from(answer.Payload ?? []).toString());
  if (answer.FunctionError === undefined) return said;
  throw new Refused(`it fails: ${failed.safeParse(said).data?.errorMessage ?? answer.FunctionError}`);
};

/** The functions of this install that fence, by their names. */
export const lambdaFencers = (client: () => Promise<LambdaClient>, names: readonly string[]): readonly Fencer[] =>
  names.map((name) => ({ name, ask: async (question, signal) => asked(await client(), name, question, signal) }));
