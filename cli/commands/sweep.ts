import type { Outcome } from '../../fencing/model/outcome.ts';
import { beginsNothing } from '../../fencing/model/policy.ts';
import { sweep as sweepAll, type SweepOutcome } from '../../fencing/sweep/sweep.ts';
import { newRunId } from '../../config/system.ts';
import { printOutcomes, outcomeOfError, type Terminal } from '../answer.ts';
import { keepByHand } from '../incident-place.ts';
import { withSession, type CommonOptions } from '../session.ts';

/**
 * Returns the outcome for a cluster that gave no answer. This is a result too: the state of its Nodes is unknown, not
 * fine.
 */
const unansweredBy = ({ cluster, error }: SweepOutcome['unreachable'][number], dryRun: boolean): Outcome => ({
  ...outcomeOfError(error, dryRun),
  cluster,
});

export const sweep = (options: CommonOptions, terminal: Terminal): Promise<number> =>
  withSession(options, terminal, async (session) => {
    const { policy, deadline, ports } = session;
    const { outcomes, unreachable } = await sweepAll({ policy, deadline, newRunId }, ports);
    const code = printOutcomes(
      [...outcomes, ...unreachable.map((other) => unansweredBy(other, beginsNothing(policy)))],
      options.json ?? false,
      terminal,
    );
    await keepByHand('sweep', outcomes, session, terminal);
    return code;
  });
