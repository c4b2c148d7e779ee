import { z } from 'zod';
import { runDiagnosis } from '../config/diagnose.ts';
import { answerJson, type AnswerJson } from '../diagnosis/answer.ts';
import { parseTarget } from '../diagnosis/target.ts';
import { InvalidInput } from '../fencing/model/errors.ts';
import type { NamingDependencies } from './dependencies.ts';
import { type TimeLimit, withinInvocation } from './invocation.ts';

const question = z.strictObject({ target: z.string().optional() });

/**
 * Says why pods wait for their volumes, from inside the function: `{"target": "pod/prod/db-0"}`, or `{}` for all pods
 * that wait. The answer is the one of `cloudfence diagnose --json`.
 *
 * @throws InvalidInput
 */
export const diagnose =
  (getDependencies: () => Promise<NamingDependencies>) =>
  async (event: unknown, limit: TimeLimit): Promise<AnswerJson> => {
    const asked = question.safeParse(event ?? {});
    if (!asked.success)
      throw new InvalidInput(`send {"target": "pod/<namespace>/<name>"} or {}: ${z.prettifyError(asked.error)}`);
    const target = parseTarget(asked.data.target);
    const dependencies = await getDependencies();
    const { openedCloud, openClusters, policy } = dependencies;
    return withinInvocation(
      dependencies,
      limit,
      () => null,
      async ({ ports, deadline }) =>
        answerJson(await runDiagnosis(target, { openedCloud, openClusters, policy, ports, deadline })),
    );
  };
