import { z } from 'zod';
import { runDiagnosis, runStatus } from '../app/diagnose.ts';
import { answerJson, type AnswerJson } from '../diagnosis/answer.ts';
import { statusJson, type StatusJson } from '../diagnosis/status.ts';
import { parseTarget } from '../diagnosis/target.ts';
import { InvalidInput } from '../fencing/model/errors.ts';
import type { NamingDependencies } from './dependencies.ts';
import { type TimeLimit, withinInvocation } from './invocation.ts';

const question = z.strictObject({
  question: z.enum(['causes', 'status']).default('causes'),
  target: z.string().optional(),
});

export type DiagnoseResult = AnswerJson | StatusJson;

/**
 * Says why pods wait for their volumes, from inside the function: `{"target": "pod/prod/db-0"}`, or `{}` for all pods
 * that wait. `{"question": "status"}` shows the state of every cluster. The answers are those of `cloudfence diagnose
 * --json` and `cloudfence status --json`. Both only read, so one function with one role serves both.
 *
 * @throws InvalidInput
 */
export const diagnose =
  (getDependencies: () => Promise<NamingDependencies>) =>
  async (event: unknown, limit: TimeLimit): Promise<DiagnoseResult> => {
    const read = question.safeParse(event ?? {});
    if (!read.success)
      throw new InvalidInput(
        `send {"target": "pod/<namespace>/<name>"}, {"question": "status"}, or {}: ${z.prettifyError(read.error)}`,
      );
    const { question: asked, target: named } = read.data;
    if (asked === 'status' && named !== undefined)
      throw new InvalidInput('a status has no target: it shows everything');
    const target = parseTarget(named);
    const dependencies = await getDependencies();
    const { openedCloud, openClusters, policy } = dependencies;
    return withinInvocation(
      dependencies,
      limit,
      () => null,
      async ({ ports, deadline }) =>
        asked === 'status'
          ? statusJson(await runStatus({ openClusters, policy, ports, deadline }))
          : answerJson(await runDiagnosis(target, { openedCloud, openClusters, policy, ports, deadline })),
    );
  };
