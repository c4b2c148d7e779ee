import { checkLine, diagnosisOf } from '../../providers/check.ts';
import { examine } from '../../config/doctor.ts';
import type { Output } from '../answer.ts';
import { withSession, type CommonOptions } from '../session.ts';

/**
 * Says in words whether a fence would work from here. Checks the credentials of the person who runs the command,
 * because those would give the orders.
 */
export const doctor = (options: CommonOptions, output: Output): Promise<number> =>
  withSession(options, output, async ({ kit, clusters, policy, ports }) => {
    const diagnosis = diagnosisOf((await examine(kit, clusters, { policy, gives: 'orders' }, ports.signal)).checks);
    if (options.json) output.line(JSON.stringify(diagnosis));
    else for (const check of diagnosis.checks) output.line(checkLine(check));
    return diagnosis.verdict === 'fail' ? 1 : 0;
  });
