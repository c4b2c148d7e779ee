import { type Check, doctorReport, reportLines } from '../../providers/check.ts';
import { runDoctorChecks } from '../../config/doctor.ts';
import { newRunId } from '../../config/environment.ts';
import { InvalidInput } from '../../fencing/model/errors.ts';
import { tryTestEvent } from '../../functions/test-event.ts';
import type { Terminal } from '../answer.ts';
import { isAddress, openChain, openPlace } from '../incident-place.ts';
import { type Session, withSession, type CommonOptions } from '../session.ts';

export interface DoctorOptions extends CommonOptions {
  /** The entrance of events into the install, if a test event is requested. */
  readonly testEvent?: string;
}

const WITHOUT_PLACE =
  '--test-event needs `incidents` in the configuration: the bucket or the container of the install, where on-event confirms the arrival (docs/cli.md, "The test event")';

/** Sends a test event with the person's credentials. Only the install can confirm it, in its storage of incidents. */
const testEventChecks = async (entrance: string, { settings, ports, deadline }: Session): Promise<readonly Check[]> => {
  const { incidents: address } = settings;
  if (address === undefined || !isAddress(address)) throw new InvalidInput(WITHOUT_PLACE);
  const [chain, incidents] = await Promise.all([openChain(entrance, settings), openPlace(address, settings)]);
  const lasts = deadline - ports.clock.now().mono;
  return [await tryTestEvent(chain, { ports, incidents, newRunId }, lasts, ports.signal)];
};

/**
 * Reports whether a fence would work from here, and ends with a verdict. Checks the credentials of the person who runs
 * the command, because a fence would use them.
 */
export const doctor = (options: DoctorOptions, terminal: Terminal): Promise<number> =>
  withSession(options, terminal, async (session) => {
    const { openedCloud, clusters, policy, ports } = session;
    const examined = { policy, runsFences: true } as const;
    const { testEvent } = options;
    const [{ checks, notTried }, tried] = await Promise.all([
      runDoctorChecks(openedCloud, clusters, examined, ports.signal),
      testEvent === undefined ? [] : testEventChecks(testEvent, session),
    ]);
    const diagnosis = doctorReport([...checks, ...tried], notTried);
    if (options.json) terminal.line(JSON.stringify(diagnosis));
    else for (const text of reportLines(diagnosis)) terminal.line(text);
    return diagnosis.verdict === 'fail' ? 1 : 0;
  });
