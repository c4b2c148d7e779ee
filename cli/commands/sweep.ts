import type { Outcome } from '../../fencing/model/outcome.ts';
import { sweep as sweepAll, type Swept } from '../../fencing/sweep/sweep.ts';
import { newRunId } from '../../config/system.ts';
import { answerAll, outcomeOfError, type Output } from '../answer.ts';
import { withSession, type CommonOptions } from '../session.ts';

/**
 * Returns the outcome for a cluster that gave no answer. This is a result too: the state of its Nodes is unknown, not
 * fine.
 */
const unansweredBy = ({ cluster, error }: Swept['unreachable'][number], dryRun: boolean): Outcome => ({
  ...outcomeOfError(error, dryRun),
  cluster,
});

export const sweep = (options: CommonOptions, output: Output): Promise<number> =>
  withSession(options, output, async ({ policy, deadline, ports }) => {
    const { outcomes, unreachable } = await sweepAll({ policy, deadline, newRunId }, ports);
    return answerAll(
      [...outcomes, ...unreachable.map((other) => unansweredBy(other, policy.dryRun))],
      options.json ?? false,
      output,
    );
  });
