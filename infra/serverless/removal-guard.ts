import { z } from 'zod';
import type { Options, Serverless, Writers, Hooks } from './service.ts';
import { InvokeCommand, LambdaClient, ResourceNotFoundException } from '@aws-sdk/client-lambda';

/**
 * The question that a removal first asks the doctor function, and the texts about its answer. They are the same on
 * every cloud.
 */

export const FENCES_QUESTION = { question: 'fences' } as const;

const fencesAnswer = z.object({ fences: z.array(z.looseObject({ cluster: z.string(), node: z.string() })) });

type Fences = z.infer<typeof fencesAnswer>['fences'];

const fencesIn = (said: unknown): Fences => fencesAnswer.parse(said).fences;

const inWords = (fences: Fences): string =>
  fences.map(({ cluster, node }) => `  - Node ${node} in ${cluster}`).join('\n');

const describeFences = (fences: Fences): string =>
  `some Nodes are still fenced.\n${inWords(fences)}\nRelease them with \`cloudfence release --all\`, then ` +
  'remove again.';

const refusal = (reason: string): string =>
  `Cloudfence removed nothing: ${reason}\nTo remove Cloudfence nevertheless, add --force-remove.`;

const AFTER_FORCED_REMOVAL = 'With --force-remove, fenced Nodes stay fenced.';

export const forceRemoveOption = {
  usage: 'Remove the install even if Nodes are fenced, or if it is unknown whether any are',
  type: 'boolean',
};

/** The function that knows the existing fences. */
interface FenceQuery {
  readonly name: string;
  /** Returns its answer to `FENCES_QUESTION`, or undefined if there is no such function. */
  readonly ask: () => Promise<unknown>;
}

const activeFences = async (ask: FenceQuery['ask']): Promise<Fences | null> => {
  const said = await ask();
  return said === undefined ? null : fencesIn(said);
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Allows a removal only if no Node is fenced by the install, because no one else would release those fences. */
export const guardRemoval = async (
  { name, ask }: FenceQuery,
  { classes }: Pick<Serverless, 'classes'>,
  options: Options,
  { log }: Pick<Writers, 'log'>,
): Promise<void> => {
  const refuse = (reason: string): never => {
    throw new classes.Error(refusal(reason));
  };
  if (options['force-remove']) return log.warning(AFTER_FORCED_REMOVAL);
  const fences = await activeFences(ask).catch((error: unknown) =>
    refuse(`the function ${name} did not say whether Nodes are fenced: ${messageOf(error)}`),
  );
  if (fences === null) return log.notice(`The function ${name} does not exist, so the fences are not checked.`);
  if (fences.length > 0) refuse(describeFences(fences));
};

const ask = async (lambda: LambdaClient, name: string): Promise<unknown> => {
  const Payload = Buffer.from(JSON.stringify(FENCES_QUESTION));
  const { Payload: said, FunctionError: failed } = await lambda.send(
    new InvokeCommand({ FunctionName: name, Payload }),
  );
  const text = Buffer.from(said ?? []).toString();
  if (failed !== undefined) throw new Error(text);
  return JSON.parse(text);
};

const askIfPresent = async (lambda: LambdaClient, name: string): Promise<unknown> => {
  try {
    return await ask(lambda, name);
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
};

const fenceQueryOf = (serverless: Serverless): FenceQuery => {
  const { name } = serverless.service.getFunction('doctor');
  return {
    name,
    ask: async () => askIfPresent(new LambdaClient(await serverless.getProvider('aws').getAwsSdkV3Config()), name),
  };
};

/** A plugin of `serverless` that asks an install on AWS for existing fences before it is removed. */
export default function refuseRemovalWithFences(serverless: Serverless, options: Options, writers: Writers): object {
  const hooks: Hooks = {
    'before:remove:remove': () => guardRemoval(fenceQueryOf(serverless), serverless, options, writers),
  };
  return { commands: { remove: { options: { 'force-remove': forceRemoveOption } } }, hooks };
}
