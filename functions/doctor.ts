import { pluralize } from '../fencing/model/reason.ts';
import { z } from 'zod';
import { maxLength } from '../fencing/model/foreign-text.ts';
import { type AskPorts, runDoctorChecks, runAccessChecks } from '../app/doctor.ts';
import { inHalfOfTheTime, searchPorts } from '../app/search-ports.ts';
import { listFences } from '../diagnosis/by-name.ts';
import { CloudfenceError, InvalidInput, Refused } from '../fencing/model/errors.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import { type Check, checkSchema, type DoctorReport, doctorReport } from '../providers/check.ts';
import type { DoctorDependencies, ExaminedFunction } from './dependencies.ts';
import type { TimeLimit } from './invocation.ts';
import { tryTestEvent } from './test-event.ts';

/**
 * The additional checks of the deployed doctor: the roles of the other functions, and a test event through the chain.
 */

const question = z.looseObject({ question: z.enum(['checks', 'fences', 'test-event']).default('checks') });

/** Time reserved for the answer (ms). */
const MARGIN_MS = 3_000;

interface ActiveFence {
  readonly cluster: string;
  readonly node: string;
  readonly instance: string | null;
}

export type DoctorResult = DoctorReport | { readonly fences: readonly ActiveFence[] };

const deadlineOf = ({ ports: { clock } }: Pick<DoctorDependencies, 'ports'>, limit: TimeLimit): number =>
  clock.now().mono + limit.getRemainingTimeInMillis() - MARGIN_MS;

/** A cluster that never answers takes half of the time, so that the function can still answer. */
const askPorts = (dependencies: Pick<DoctorDependencies, 'ports'>, limit: TimeLimit): AskPorts => {
  const { signal } = new AbortController();
  const ports = { ...dependencies.ports, signal };
  return { signal, inTime: inHalfOfTheTime({ ports, deadline: deadlineOf(dependencies, limit) }) };
};

const fencesIn = async (
  { openedCloud, openClusters, ports }: DoctorDependencies,
  limit: TimeLimit,
  signal: AbortSignal,
): Promise<readonly ActiveFence[]> => {
  const deadline = deadlineOf({ ports }, limit);
  const fences = await listFences(searchPorts({ openedCloud, openClusters, ports: { ...ports, signal }, deadline }));
  return fences.map(({ cluster, node, machine }) => ({ cluster, node, instance: machine }));
};

/**
 * Runs all checks. If other functions fence with their own roles, this checks their access instead of the doctor's own,
 * which only allows reads.
 */
const runAllChecks = async (dependencies: DoctorDependencies, asking: AskPorts): Promise<DoctorReport> => {
  const { signal } = asking;
  const { openedCloud, openClusters, policy, fencers = [], readers = [], incidents } = dependencies;
  const alone = fencers.length === 0;
  const { checks, machines, notTried } = await runDoctorChecks(
    openedCloud,
    openClusters,
    { policy, runsFences: alone },
    asking,
  );
  const own = alone ? await incidentChecks(incidents, signal) : [];
  const theirs = await Promise.all([
    ...fencers.map((fencer) => checksBy(fencer, machines, signal)),
    ...readers.map(async (reader) => (await checksBy(reader, [], signal)).map(asWarning)),
  ]);
  return doctorReport([...checks, ...own, ...theirs.flat()], [...notTried, NOT_TRIED_IN_FUNCTIONS]);
};

/** A function that only reads cannot prevent a fence. */
const asWarning = (check: Check): Check =>
  check.verdict === 'fail' ? { ...check, verdict: 'warn', says: `${check.says}. A fence works without it` } : check;

/** Each of these calls would have an effect, and no platform offers a dry run for it. */
const NOT_TRIED_IN_FUNCTIONS =
  'the functions: sending to the queues, writing an incident, and telling topics; {"question": "test-event"} ' +
  'sends one event through to on-event';

const NO_INCIDENT = 'incidents/doctor/';

/** Reads stored incidents as the fencing functions do. A fence does not depend on it. */
const incidentChecks = async (
  keeper: DoctorDependencies['incidents'],
  signal: AbortSignal,
): Promise<readonly Check[]> => {
  if (!keeper) return [];
  const what = 'may read the place of incidents';
  try {
    await keeper.objects.list(NO_INCIDENT, signal);
    await keeper.objects.read(`${NO_INCIDENT}none.json`, signal);
    return [{ what, verdict: 'ok', says: 'it lists and reads' }];
  } catch (error) {
    if (!(error instanceof CloudfenceError)) throw error;
    return [{ what, verdict: 'warn', says: `${error.message}. A fence works, but no incident is kept of it` }];
  }
};

/** The checks and the test event run concurrently, because the time of an invocation is short. */
const diagnosedWithTestEvent = async (
  dependencies: DoctorDependencies,
  limit: TimeLimit,
  asking: AskPorts,
): Promise<DoctorReport> => {
  const { testChain } = dependencies;
  if (!testChain)
    throw new InvalidInput('only a deployed doctor sends test events: ask it with `serverless invoke -f doctor`');
  const lasts = limit.getRemainingTimeInMillis() - MARGIN_MS;
  const [{ checks, notTried }, tried] = await Promise.all([
    runAllChecks(dependencies, asking),
    tryTestEvent(testChain, dependencies, lasts, asking.signal),
  ]);
  return doctorReport([...checks, tried], notTried);
};

/**
 * Runs the checks from inside the function, whose network and identity differ from those of a laptop. `{"question":
 * "test-event"}` also sends an event through the deployed chain. `{"question": "fences"}` lists the unfinished fences;
 * the removal of an install asks for them first.
 * @throws InvalidInput
 */
export const doctor =
  (getDependencies: () => Promise<DoctorDependencies>) =>
  async (event: unknown, limit: TimeLimit): Promise<DoctorResult> => {
    const asked = question.safeParse(event ?? {});
    if (!asked.success) throw new InvalidInput(`the question is not valid: ${z.prettifyError(asked.error)}`);
    const dependencies = await getDependencies();
    const asking = askPorts(dependencies, limit);
    switch (asked.data.question) {
      case 'fences':
        return { fences: await fencesIn(dependencies, limit, asking.signal) };
      case 'test-event':
        return diagnosedWithTestEvent(dependencies, limit, asking);
      case 'checks':
        return runAllChecks(dependencies, asking);
    }
  };

/** Returns whether the function must also signal the failure to the platform, because a fence would not work. */
export const isFailing = (answer: DoctorResult): answer is DoctorReport =>
  'verdict' in answer && answer.verdict === 'fail';

/**
 * The doctor asks the other functions about their access, because their roles and its own role permit different
 * things.
 */

/** Limits the machines in one question: enough to test the calls, and few enough for any message. */
const MOST_NAMED = 20;

const accessQuestion = z.strictObject({
  question: z.literal('access'),
  machines: z.array(z.string().check(maxLength(300))).check(maxLength(MOST_NAMED)),
});
const accessAnswer = z.object({
  checks: z.array(checkSchema),
});

export type AccessReport = z.infer<typeof accessAnswer>;

/**
 * Returns what a function reports about its own access when the doctor asks. Returns null if the event is not such a
 * question. A function that does not fence stores no incidents, either.
 */
export const answerAccessQuestion = async (
  event: unknown,
  getDependencies: () => Promise<DoctorDependencies>,
  runsFences: boolean,
  limit: TimeLimit,
): Promise<AccessReport | null> => {
  const asked = accessQuestion.safeParse(event);
  if (!asked.success) return null;
  const dependencies = await getDependencies();
  const { openedCloud, openClusters, policy, incidents } = dependencies;
  const { machines } = asked.data;
  const asking = askPorts(dependencies, limit);
  return {
    checks: [
      ...(await runAccessChecks(openedCloud, openClusters, { policy, runsFences, machines }, asking)),
      ...(runsFences ? await incidentChecks(incidents, asking.signal) : []),
    ],
  };
};

const askForChecks = async (
  { ask }: ExaminedFunction,
  machines: readonly MachineId[],
  signal: AbortSignal,
): Promise<readonly Check[]> => {
  const answer = accessAnswer.safeParse(
    await ask({ question: 'access', machines: machines.slice(0, MOST_NAMED) }, signal),
  );
  if (answer.success) return answer.data.checks;
  throw new Refused('the response of the function does not match this version: deploy all functions', {
    cause: answer.error,
  });
};

/** Returns one check if all are ok, or each check that is not ok. */
const checksBy = async (
  fencer: ExaminedFunction,
  machines: readonly MachineId[],
  signal: AbortSignal,
): Promise<readonly Check[]> => {
  const what = `${fencer.name}: access with its own role`;
  try {
    const checks = await askForChecks(fencer, machines, signal);
    const wrong = checks
      .filter(({ verdict }) => verdict !== 'ok')
      .map((check) => ({ ...check, what: `${fencer.name}: ${check.what}` }));
    return wrong.length > 0 ? wrong : [{ what, verdict: 'ok', says: `${pluralize(checks.length, 'check')} passed` }];
  } catch (error) {
    if (!(error instanceof CloudfenceError)) throw error;
    if (error instanceof Refused) return [{ what, verdict: 'fail', says: error.message }];
    return [{ what, verdict: 'warn', says: `unknown, because the function did not answer: ${error.message}` }];
  }
};
