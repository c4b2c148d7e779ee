import { InvokeCommand, LambdaClient, ResourceNotFoundException } from '@aws-sdk/client-lambda';
import { fencesIn, forceRemove, FORCED, QUESTION, refusal, standingInWords, type Fences } from './fences.ts';
import type { Hooks, Options, Serverless, Writers } from './service.ts';

const ask = async (lambda: LambdaClient, name: string): Promise<Fences> => {
  const Payload = Buffer.from(JSON.stringify(QUESTION));
  const { Payload: said, FunctionError: failed } = await lambda.send(new InvokeCommand({ FunctionName: name, Payload }));
  const text = Buffer.from(said ?? []).toString();
  if (failed !== undefined) throw new Error(text);
  return fencesIn(JSON.parse(text));
};

/** Null when there is no such function: then there is nothing left to ask, and little to remove. */
const standing = async (lambda: LambdaClient, name: string): Promise<Fences | null> => {
  try {
    return await ask(lambda, name);
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return null;
    throw error;
  }
};

const why = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A plugin of `serverless`: an install goes only when none of its fences is left standing, for nobody else would take them back. */
export default function standingFences(serverless: Serverless, options: Options, { log }: Writers): object {
  const refuse = (reason: string): never => {
    throw new serverless.classes.Error(refusal(reason));
  };
  const guard = async (): Promise<void> => {
    if (options['force-remove']) return log.warning(FORCED);
    const lambda = new LambdaClient(await serverless.getProvider('aws').getAwsSdkV3Config());
    const { name } = serverless.service.getFunction('doctor');
    const fences = await standing(lambda, name).catch((error: unknown) => refuse(`the function ${name} cannot say whether fences stand: ${why(error)}`));
    if (fences === null) return log.notice(`There is no function ${name} any more: nothing can be asked about fences.`);
    if (fences.length > 0) refuse(standingInWords(fences));
  };
  const hooks: Hooks = { 'before:remove:remove': guard };
  return { commands: { remove: { options: { 'force-remove': forceRemove } } }, hooks };
}
