import type { ClusterFacts } from '../fencing/model/cluster-facts.ts';
import { asCloudfenceError, CloudfenceError } from '../fencing/model/errors.ts';
import type { Fault } from '../fencing/model/cloud.ts';
import type { RunState } from '../fencing/loop/state.ts';
import type { Ports } from '../fencing/loop/ports.ts';
import { type CommandResult, reportsOf } from '../fencing/loop/reduce.ts';
import { isSimulated, type Outcome } from '../fencing/model/outcome.ts';
import { listSome, onOneLine, shorten } from '../fencing/model/reason.ts';
import { logDecision } from './metrics.ts';

/** The lines of the log: one for each step, each outcome, and each message. */

/**
 * One JSON line for each step and each outcome, with the same field names on every platform. It never contains a secret
 * or the environment.
 */
interface DecisionLine {
  readonly decision: string;
  readonly because: string;
  readonly says: string;
  readonly event: string | null;
  readonly instance: string | null;
  readonly cluster: string | null;
  readonly node: string | null;
  readonly dryRun: boolean;
  readonly step: string | null;
  readonly target: string | null;
  readonly result: string | null;
  readonly ms: number | null;
  /** The cloud's id of the request whose answer was the evidence. */
  readonly requestId: string | null;
}

/** Limits the text of a log line, because people read it. The full text is in the answer or in the dead letter. */
const LONGEST_SAYS = 4_000;

const emptyLine: DecisionLine = {
  decision: '',
  because: '',
  says: '',
  event: null,
  instance: null,
  cluster: null,
  node: null,
  dryRun: false,
  step: null,
  target: null,
  result: null,
  ms: null,
  requestId: null,
};

/** Returns a line for each step that the command has just taken or simulated. */
export const stepLines = (answer: CommandResult, state: RunState, event: string | null): readonly DecisionLine[] =>
  reportsOf(answer, state).map((step) => ({
    ...emptyLine,
    decision: logDecision.step,
    because: step.because.code,
    says: shorten(step.message ?? step.because.says, LONGEST_SAYS),
    event,
    instance: state.request.machine,
    cluster: state.location?.cluster ?? null,
    node: state.location?.node ?? null,
    dryRun: step.result === 'dry-run',
    step: step.step,
    target: step.target,
    result: step.result,
    ms: step.ms,
    requestId: state.machine?.value.evidence['requestId'] ?? null,
  }));

const LONGEST_NAME = 60;

const quoted = (name: string): string => JSON.stringify(shorten(onOneLine(name), LONGEST_NAME));

/** Returns the facts about clusters that the command has just read. */
const clusterFactsIn = (answer: CommandResult): readonly ClusterFacts[] => {
  if (answer.to === 'look') return answer.cluster ? [answer.cluster.value] : [];
  return answer.to === 'locate' ? answer.found.flatMap(({ facts }) => facts?.value ?? []) : [];
};

/** Returns a line if the latest look skipped impossible names, which someone has invented. */
export const skippedLines = (answer: CommandResult, state: RunState, event: string | null): readonly DecisionLine[] => {
  const names = clusterFactsIn(answer).flatMap(({ impossibleNames }) => impossibleNames ?? []);
  if (names.length === 0) return [];
  return [
    {
      ...emptyLine,
      decision: logDecision.skipped,
      because: 'impossible-name',
      says:
        `no object can have these names, so Cloudfence does not look for them: ${listSome(names.map(quoted))}; a ` +
        'claim of a pod, or the record on the Node, contains them',
      event,
      instance: state.request.machine,
      cluster: state.location?.cluster ?? null,
      node: state.location?.node ?? null,
    },
  ];
};

export const outcomeLine = (outcome: Outcome, event: string | null): DecisionLine => ({
  ...emptyLine,
  decision: outcome.outcome,
  because: outcome.reason.code,
  says: shorten(outcome.reason.says, LONGEST_SAYS),
  event,
  instance: outcome.machine,
  cluster: outcome.cluster,
  node: outcome.node,
  dryRun: isSimulated(outcome),
  requestId: outcome.evidence['requestId'] ?? null,
});

export const faultLogLine = ({ what, where, remedy }: Fault): DecisionLine => ({
  ...emptyLine,
  decision: logDecision.notUnderstood,
  because: where,
  says: `${what}; ${remedy}`,
});

/** Returns the line about a message: one word and one sentence. */
export const messageLine = (what: string, because: string, says: string, instance: string | null): DecisionLine => ({
  ...emptyLine,
  decision: what,
  because,
  says: shorten(says, LONGEST_SAYS),
  instance,
});

/** Returns the line for a queue that did not accept a call. */
export const queueFailureLine = (error: unknown): object =>
  messageLine('failed', 'queue', asCloudfenceError(error).message, null);

/** The ports of a process, without what differs between its invocations. */
type ProcessPorts = Omit<Ports, 'observe' | 'signal'>;

/**
 * Stores which dry runs have been logged: one per boot of a machine, even if several sweeps find it. A dry run writes
 * nothing, so only this process stores it. Another process, or a restarted one, logs it again.
 */
const loggedDryRuns = new WeakMap<ProcessPorts, Map<string, string>>();

type Boot = Pick<Outcome, 'machine' | 'generation'>;

const bootOf = ({ generation }: Boot): string => generation ?? 'unknown';

const keyOf = (outcome: Outcome['outcome'], { machine }: Boot): string => `${outcome} ${machine}`;

const isWouldOutcome = (outcome: Outcome['outcome']): outcome is 'would-fence' | 'would-release' =>
  outcome === 'would-fence' || outcome === 'would-release';

/** Reports whether this process has already logged that dry run. */
export const wasDryRunLogged = (
  outcome: 'would-fence' | 'would-release',
  boot: Boot,
  { ports }: { readonly ports: ProcessPorts },
): boolean => loggedDryRuns.get(ports)?.get(keyOf(outcome, boot)) === bootOf(boot);

/** Returns false for a dry run that was already logged. Otherwise, stores the dry run and returns true. */
export const isFirstLog = (outcome: Outcome, { ports }: { readonly ports: ProcessPorts }): boolean => {
  if (!isWouldOutcome(outcome.outcome)) return true;
  if (wasDryRunLogged(outcome.outcome, outcome, { ports })) return false;
  const logged = loggedDryRuns.get(ports) ?? new Map<string, string>();
  loggedDryRuns.set(ports, logged.set(keyOf(outcome.outcome, outcome), bootOf(outcome)));
  return true;
};

/** Descriptions of an error: the caller gets one sentence, and the log gets all details. */

/**
 * Returns the message of a CloudfenceError, which says what is wrong, where, and how to fix it. For any other error, it
 * returns the error's first line and refers to the log.
 */
export const publicMessage = (error: unknown): string => {
  if (error instanceof CloudfenceError) return error.message;
  const [firstLine = ''] = (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).split('\n');
  return `Cloudfence failed unexpectedly (${firstLine}): see the log of the function`;
};

const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

/** Returns the line for an unexpected failure. Only the log may contain it, because it can include a stack. */
export const failureLine = (because: string, error: unknown): object => ({
  ...messageLine('failed', because, publicMessage(error), null),
  ...(error instanceof CloudfenceError ? {} : { stack: stackOf(error) }),
});
