import { statusJson, statusLines, type FenceStatus, type Status } from '../../diagnosis/status.ts';
import { runStatus, runDiagnosis } from '../../app/diagnose.ts';
import type { ReasonCode } from '../../fencing/model/reason.ts';
import { type Terminal, NEEDS_PERSON, STILL_WAITING } from '../answer.ts';
import { withSession, type CommonOptions, type Session } from '../session.ts';
import { answerJson, answerLines, type AnswerJson } from '../../diagnosis/answer.ts';
import { parseTarget } from '../../diagnosis/target.ts';
import { type Check, doctorReport, reportLines } from '../../providers/check.ts';
import { runDoctorChecks } from '../../app/doctor.ts';
import { inHalfOfTheTime } from '../../app/search-ports.ts';
import { newRunId } from '../../config/environment.ts';
import { InvalidInput } from '../../fencing/model/errors.ts';
import { tryTestEvent } from '../../functions/test-event.ts';
import { isAddress, openChain, openPlace } from '../incident-place.ts';

/**
 * The commands that only read: why pods wait for their volumes, the state of every cluster, and whether a fence would
 * work.
 */

/** Returns 0 if no pod waits, 3 if the waits end by themselves or with a fence, and 4 if a person has to act. */
const exitCodeOfAnswer = ({ findings }: AnswerJson): number => {
  const endings = findings.map(({ cause }) => cause.ending);
  if (endings.includes('by-person')) return NEEDS_PERSON;
  return endings.some((ending) => ending !== 'over') ? STILL_WAITING : 0;
};

/** Says why pods wait for their volumes. Only reads. */
export const diagnose = (target: string | undefined, options: CommonOptions, terminal: Terminal): Promise<number> => {
  const asked = parseTarget(target);
  return withSession(options, terminal, async ({ openedCloud, clusters: openClusters, policy, ports, deadline }) => {
    const answer = answerJson(await runDiagnosis(asked, { openedCloud, openClusters, policy, ports, deadline }));
    if (options.json) terminal.line(JSON.stringify(answer));
    else for (const line of answerLines(answer)) terminal.line(line);
    return exitCodeOfAnswer(answer);
  });
};

export interface StatusOptions extends CommonOptions {
  /** Repeat until Ctrl-C. */
  readonly watch?: boolean;
}

/** Reasons why a release is refused that end by themselves, or when the machine starts. */
const ENDS_WITHOUT_A_PERSON: ReadonlySet<ReasonCode> = new Set([
  'still-off',
  'return-unproven',
  'lease-misdated',
  'renewal-awaited',
]);

const needsPerson = ({ release: { outcome, reason } }: FenceStatus): boolean =>
  outcome === 'refused' && !ENDS_WITHOUT_A_PERSON.has(reason.code);

/**
 * Returns 0 if no Node is fenced, 1 if a cluster did not answer, 3 if Nodes are fenced, and 4 if a fence needs a
 * person.
 */
const exitCodeOfStatus = ({ clusters, unreachable }: Status): number => {
  const fences = clusters.flatMap((cluster) => cluster.fences);
  if (unreachable.length > 0) return 1;
  if (fences.some(needsPerson)) return NEEDS_PERSON;
  return fences.length > 0 ? STILL_WAITING : 0;
};

/** Moves the cursor to the top left corner, and clears the screen below it. */
const TOP = '\u001B[H\u001B[J';

const show = (status: Status, { json = false, watch = false }: StatusOptions, { line, screens }: Terminal): number => {
  const lines = json ? [JSON.stringify(statusJson(status))] : statusLines(status);
  const moment = `${new Date(status.now).toISOString().slice(0, 19)}Z`;
  if (watch && !json && screens.output) screens.output.write(`${TOP}${[moment, '', ...lines, ''].join('\n')}`);
  else for (const text of watch && !json ? [moment, ...lines, ''] : lines) line(text);
  return exitCodeOfStatus(status);
};

const EVERY_MS = 5_000;

/** Shows the state of every cluster. With `--watch`, repeats this. Only reads. */
export const status = (options: StatusOptions, terminal: Terminal): Promise<number> => {
  const look = async ({ clusters: openClusters, policy, ports }: Session): Promise<number> => {
    const deadline = ports.clock.now().mono + options.timeout;
    return show(await runStatus({ openClusters, policy, ports, deadline }), options, terminal);
  };
  const watch = async (session: Session): Promise<number> => {
    const { clock, signal } = session.ports;
    for (;;) {
      await look(session);
      await clock.sleep(EVERY_MS, signal);
    }
  };
  return withSession(options, terminal, options.watch ? watch : look, { whenInterrupted: options.watch ? 0 : null });
};

export interface DoctorOptions extends CommonOptions {
  /** The entrance of events into the install, if a test event is requested. */
  readonly testEvent?: string;
}

const WITHOUT_PLACE =
  '--test-event needs `incidents` in the configuration: the bucket or the container of the install, where ' +
  'on-event confirms the arrival (docs/cli.md, "The test event")';

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
    const asking = { inTime: inHalfOfTheTime(session), signal: ports.signal };
    const [{ checks, notTried }, tried] = await Promise.all([
      runDoctorChecks(openedCloud, clusters, examined, asking),
      testEvent === undefined ? [] : testEventChecks(testEvent, session),
    ]);
    const diagnosis = doctorReport([...checks, ...tried], notTried);
    if (options.json) terminal.line(JSON.stringify(diagnosis));
    else for (const text of reportLines(diagnosis)) terminal.line(text);
    return diagnosis.verdict === 'fail' ? 1 : 0;
  });
