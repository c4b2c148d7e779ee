import { InvokeCommand, LambdaClient, ResourceNotFoundException } from '@aws-sdk/client-lambda';
import { type FenceQuery, forceRemoveOption, guardRemoval, FENCES_QUESTION } from './removal-guard.ts';
import type { Hooks, Options, Serverless, Writers } from './service.ts';

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
