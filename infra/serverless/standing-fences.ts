import { InvokeCommand, LambdaClient, ResourceNotFoundException } from '@aws-sdk/client-lambda';
import { z } from 'zod';
import type { Hooks, Options, Serverless, Writers } from './service.ts';

/** What the function doctor answers to `{"question": "fences"}`. */
const answer = z.object({ fences: z.array(z.looseObject({ cluster: z.string(), node: z.string() })) });

type Fences = z.infer<typeof answer>['fences'];

const ask = async (lambda: LambdaClient, name: string): Promise<Fences> => {
  const Payload = Buffer.from(JSON.stringify({ question: 'fences' }));
  const { Payload: said, FunctionError: failed } = await lambda.send(new InvokeCommand({ FunctionName: name, Payload }));
  const text = Buffer.from(said ?? []).toString();
  if (failed !== undefined) throw new Error(text);
  return answer.parse(JSON.parse(text)).fences;
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

const inWords = (fences: Fences): string => fences.map(({ cluster, node }) => `  - Node ${node} of ${cluster}`).join('\n');
const why = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A plugin of `serverless`: an install goes only when none of its fences is left standing, for nobody else would take them back. */
export default function standingFences(serverless: Serverless, options: Options, { log }: Writers): object {
  const refuse = (reason: string): never => {
    throw new serverless.classes.Error(`nothing was removed: ${reason}\nTo remove Cloudfence all the same, give --force-remove.`);
  };
  const guard = async (): Promise<void> => {
    if (options['force-remove']) return log.warning('Fences that stand, if any, are left as they are: --force-remove.');
    const lambda = new LambdaClient(await serverless.getProvider('aws').getAwsSdkV3Config());
    const { name } = serverless.service.getFunction('doctor');
    const fences = await standing(lambda, name).catch((error: unknown) => refuse(`the function ${name} cannot say whether fences stand: ${why(error)}`));
    if (fences === null) return log.notice(`There is no function ${name} any more: nothing can be asked about fences.`);
    if (fences.length > 0) refuse(`fences stand.\n${inWords(fences)}\nTake them back with \`cloudfence release --all\`, then remove again.`);
  };
  const hooks: Hooks = { 'before:remove:remove': guard };
  const forceRemove = { usage: 'Remove although fences stand, or although nobody can say whether any do', type: 'boolean' };
  return { commands: { remove: { options: { 'force-remove': forceRemove } } }, hooks };
}
