import { doctorReport, reportLines } from '../../providers/check.ts';
import { runDoctorChecks } from '../../config/doctor.ts';
import type { Terminal } from '../answer.ts';
import { withSession, type CommonOptions } from '../session.ts';

/**
 * Says in words whether a fence would work from here, and ends with a verdict. Checks the credentials of the person who runs the command,
 * because a fence would use them.
 */
export const doctor = (options: CommonOptions, terminal: Terminal): Promise<number> =>
  withSession(options, terminal, async ({ openedCloud, clusters, policy, ports }) => {
    const examined = { policy, gives: 'orders' } as const;
    const { checks, untried } = await runDoctorChecks(openedCloud, clusters, examined, ports.signal);
    const diagnosis = doctorReport(checks, untried);
    if (options.json) terminal.line(JSON.stringify(diagnosis));
    else for (const text of reportLines(diagnosis)) terminal.line(text);
    return diagnosis.verdict === 'fail' ? 1 : 0;
  });
