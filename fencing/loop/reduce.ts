import type { SurveyOfClusters, ClusterFacts, NodeFacts, Recheck } from '../model/cluster-facts.ts';
import { CloudfenceError, PermissionDenied, ProofExpired, Refused } from '../model/errors.ts';
import { applySimulatedStep, applyStepError, applyStepResult } from './apply-step.ts';
import { type Ending, type RunState, type Observation, viewOf } from './state.ts';
import { baselineLease, withClusterRead, withMachineRead } from './reads.ts';
import { mayHaveFreed, witnessAttachments } from '../rules/identity.ts';
import type { Admission } from '../model/ledger.ts';
import type { MachineFacts, Witness } from '../model/machine.ts';
import { type Command, stepsOfCommand } from './command.ts';
import { type ClusterSearchResult, withLocation } from './locate.ts';
import { failedEnding, isPermanent, tryLater, expired } from './ending.ts';
import type { StepReport } from '../model/outcome.ts';
import type { Moment, PlannedStep } from '../rules/view.ts';
import type { StepResult } from '../model/cluster.ts';
import { stepKey, stepProperties } from '../model/steps.ts';

/**
 * Returns the state after the disks were asked as witnesses. If a fence may have freed the disks, the cluster is read
 * again: only an attachment that still exists shows that nobody detached its disk before it was asked. Attachments that
 * appear only in the list of all attachments are then searched again.
 */
const witnessed = (state: RunState, witness: Witness, now: Moment): RunState => {
  const view = viewOf(state, now);
  if (!view || !mayHaveFreed(view)) return { ...state, memory: { ...state.memory, witness } };
  const testified = witnessAttachments(view);
  return { ...state, cluster: null, memory: { ...state.memory, witness, testified, searched: false } };
};

/** The result of a recheck, and the step for which it was made. */
interface Rechecked {
  readonly value: Recheck;
  readonly requestedAt: Moment;
  readonly step: string;
}

/** The result of a command. */
export type CommandResult =
  | {
      readonly to: 'look';
      readonly machine: Observation<MachineFacts> | null;
      readonly cluster: Observation<ClusterFacts> | null;
    }
  | { readonly to: 'locate'; readonly found: readonly ClusterSearchResult[] }
  | { readonly to: 'witness'; readonly value: Witness }
  | { readonly to: 'survey-connectivity'; readonly value: SurveyOfClusters; readonly requestedAt: Moment }
  | { readonly to: 'reserve'; readonly value: Admission; readonly recheck: Rechecked | null }
  | ({ readonly to: 'recheck' } & Rechecked)
  /** One answer for each step of the command, in the same order. */
  | { readonly to: 'act'; readonly answers: readonly StepAnswer[]; readonly sentAt: Moment }
  | { readonly to: 'imagine' | 'record-events' | 'conclude' }
  /** How often the run asked for an attachment during the sleep. */
  | { readonly to: 'sleep'; readonly polls: number }
  | { readonly to: 'end'; readonly ending: Ending }
  | { readonly to: 'failed'; readonly error: CloudfenceError };

/** Returns the errors in the result of a command. */
export const errorsIn = (result: CommandResult): readonly CloudfenceError[] => {
  if (result.to === 'failed') return [result.error];
  return result.to === 'act' ? result.answers.filter((answer) => answer instanceof CloudfenceError) : [];
};

/** Returns the reports of the steps that a command has taken or simulated. A step that was not sent has no report. */
export const reportsOf = (result: CommandResult, { steps }: Pick<RunState, 'steps'>): readonly StepReport[] => {
  if (result.to === 'imagine') return steps.slice(-1);
  const sent = result.to === 'act' ? result.answers.filter((answer) => !(answer instanceof ProofExpired)).length : 0;
  return steps.slice(steps.length - sent);
};

/** Returns the run state after the result of a command. Pure. */
export const reduce = (state: RunState, command: Command, result: CommandResult, now: Moment): RunState => {
  switch (result.to) {
    case 'look':
      return looked(state, command, result, now);
    case 'locate':
      return withLocation(state, result.found, now);
    case 'witness':
      return witnessed(state, result.value, now);
    case 'survey-connectivity':
      return {
        ...state,
        memory: { ...state.memory, connectivity: { value: result.value, requestedAt: result.requestedAt.mono } },
      };
    case 'reserve':
      return command.do === 'reserve' ? reserved(state, command, result, now) : state;
    case 'recheck':
      return rechecked(state, result, now);
    case 'act':
      return command.do === 'act' ? applyAnswers(state, command, result, now) : state;
    case 'imagine':
      return command.do === 'imagine' ? applySimulatedStep(state, command, now) : state;
    case 'sleep':
      return rested(state, command, result.polls, now);
    case 'record-events':
      return { ...state, eventsRecorded: true };
    case 'conclude':
      return { ...state, concluded: state.concluded + 1 };
    case 'end':
      return { ...state, ending: result.ending };
    case 'failed':
      return failed(state, command, result.error, now);
  }
};

const looked = (
  state: RunState,
  command: Command,
  { machine, cluster }: Extract<CommandResult, { to: 'look' }>,
  now: Moment,
): RunState => {
  const renewed = machine && command.do === 'look' && !command.disks ? withDisksOf(machine, state.machine) : machine;
  const withMachine = renewed ? withMachineRead(state, renewed, now) : state;
  const withBoth = cluster ? withClusterRead(withMachine, cluster, now) : withMachine;
  const proofRenewed = machine ? renewed !== machine : state.proofRenewed;
  const searched = withBoth.memory.searched || (command.do === 'look' && command.search);
  return { ...withBoth, proofRenewed, memory: { ...withBoth.memory, searched }, cleared: null };
};

/**
 * Adds the disks of the previous read. Renewing a proof does not read the disks, because they have not changed since a
 * moment ago.
 */
const withDisksOf = (
  machine: Observation<MachineFacts>,
  before: Observation<MachineFacts> | null,
): Observation<MachineFacts> =>
  before ? { ...machine, value: { ...machine.value, disks: before.value.disks } } : machine;

const TAINTS = ['outOfService', 'ours', 'quarantine'] as const;

/**
 * Returns whether a taint was removed or is no longer ours. If someone else replaced our taint with their own, it
 * counts as removed.
 */
const isUntainted = (node: NodeFacts, { taints }: Recheck): boolean =>
  TAINTS.some((taint) => node.taints[taint] && !taints[taint]);

/** Returns whether another machine uses the name of the gone Node, so that the recheck shows that machine's Node. */
const isNameReused = ({ node, nameTaken }: ClusterFacts): boolean => node === null && nameTaken;

/** Returns whether the record, a taint, or the Node changed since the last look. */
const moved = (cluster: ClusterFacts, recheck: Recheck): boolean => {
  if (isNameReused(cluster)) return false;
  const { node } = cluster;
  const untainted = node !== null && isUntainted(node, recheck);
  return untainted || recheck.uid !== (node?.uid ?? null) || recheck.recordText !== (node?.recordText ?? null);
};

/** Allows the step to be sent, or makes the run look again if something changed between the look and the call. */
const rechecked = (state: RunState, { value, step, requestedAt }: Rechecked, now: Moment): RunState => {
  const { cluster, memory } = state;
  if (!cluster || moved(cluster.value, value)) return { ...state, cluster: null, cleared: null };
  const cleared = { step, at: requestedAt.mono };
  // If the name was reused, the Lease belongs to the new Node and does not show anything about this machine.
  if (isNameReused(cluster.value)) return { ...state, cleared };
  return {
    ...state,
    cluster: { ...cluster, value: { ...cluster.value, lease: value.lease } },
    memory: { ...memory, ...baselineLease(memory, value.lease, requestedAt, now.mono) },
    cleared,
  };
};

const reserved = (
  state: RunState,
  { reservation: { boot } }: Extract<Command, { do: 'reserve' }>,
  { value, recheck }: Extract<CommandResult, { to: 'reserve' }>,
  now: Moment,
): RunState => {
  const after = { ...state, memory: { ...state.memory, admission: value, admittedBoot: boot } };
  return recheck ? rechecked(after, recheck, now) : after;
};

/**
 * Returns the state after a sleep: everything is read again. At the deadline, nothing is read any more, and the ending
 * describes what the last look showed.
 */
const rested = (state: RunState, command: Command, polls: number, now: Moment): RunState => {
  const pending =
    command.do === 'sleep' && state.resumeAt === null
      ? { outcome: 'waiting' as const, reason: command.because, ms: command.ms }
      : state.pending;
  if (now.mono >= state.deadline) return { ...state, resumeAt: null, pending };
  const memory = {
    ...state.memory,
    polls: state.memory.polls + 1 + polls,
    sinceLook: new Set<string>(),
    failedSinceLook: new Set<string>(),
    witness: null,
    connectivity: null,
  };
  return { ...state, machine: null, cluster: null, cleared: null, resumeAt: null, pending, memory };
};

const failed = (state: RunState, command: Command, error: CloudfenceError, now: Moment): RunState => {
  if (command.do === 'record-events') return { ...state, eventsRecorded: true };
  if (command.do === 'conclude') return { ...state, concluded: state.concluded + 1 };
  const denied = error instanceof PermissionDenied;
  const hopeless = isPermanent(error) && !(denied && wasAllowedBefore(state, command));
  return hopeless ? { ...state, ending: failedEnding(error) } : tryLater(state, error, now);
};

/**
 * Returns whether this run was already allowed to make the same kind of read. If so, a denial is not permanent: an API
 * server that has just started does not know any roles yet.
 */
const wasAllowedBefore = ({ memory }: RunState, command: Command): boolean =>
  memory.firstLease !== undefined &&
  (command.do === 'recheck' || command.do === 'sleep' || (command.do === 'look' && !command.search));

/** The answer to one step: its result, or why there is no result. */
export type StepAnswer = StepResult | CloudfenceError;

interface Failed {
  readonly act: PlannedStep;
  readonly error: CloudfenceError;
}

/**
 * Returns the run state after the steps of a command, each with its answer. The steps are of one kind, so they depend
 * on the same facts and leave the same facts valid.
 */
const applyAnswers = (
  state: RunState,
  command: Extract<Command, { do: 'act' }>,
  { answers, sentAt }: { readonly answers: readonly StepAnswer[]; readonly sentAt: Moment },
  now: Moment,
): RunState => {
  const { machine, cluster } = state;
  const failed: Failed[] = [];
  let after = state;
  stepsOfCommand(command).forEach((act, nth) => {
    const answer = answers[nth];
    if (answer instanceof CloudfenceError) failed.push({ act, error: answer });
    else if (answer !== undefined) after = applyStepResult({ ...after, machine, cluster }, act, answer, sentAt, now);
  });
  if (failed.length === 0) return after;
  return failed.length < answers.length ? goOn(after, failed, sentAt, now) : allFailed(after, failed, sentAt, now);
};

const withErrors = (state: RunState, failed: readonly Failed[], sentAt: Moment, now: Moment): RunState =>
  failed.reduce((after, { act, error }) => applyStepError(after, act, error, sentAt, now), state);

/** Leaves out calls that were not sent. They give no information, and the next command sends them. */
const sentOf = (failed: readonly Failed[]): readonly Failed[] =>
  failed.filter(({ error }) => !(error instanceof ProofExpired));

const isAboutItsObject = ({ error }: Failed): boolean => error instanceof Refused || error instanceof PermissionDenied;

/**
 * Returns the run state if other steps took effect. A step that its own object rejected is tried again after the next
 * look, and does not delay the others.
 */
const goOn = (state: RunState, failed: readonly Failed[], sentAt: Moment, now: Moment): RunState => {
  const sent = sentOf(failed);
  const after = withErrors({ ...state, cleared: null }, sent, sentAt, now);
  const other = sent.find((one) => !isAboutItsObject(one));
  if (other) return tryLater(after, other.error, now);
  const failedSinceLook = new Set([...after.memory.failedSinceLook, ...sent.map(({ act }) => stepKey(act.step))]);
  return { ...after, memory: { ...after.memory, failedSinceLook } };
};

const allFailed = (state: RunState, failed: readonly Failed[], sentAt: Moment, now: Moment): RunState => {
  const sent = sentOf(failed);
  const [first] = sent;
  if (!first) return expired(state, now);
  const after = withErrors(state, sent, sentAt, now);
  if (after.ending) return after;
  const hopeless = sent.find(({ act, error }) => isPermanent(error) && !stepProperties[act.step.do].perObject);
  if (hopeless) return { ...after, ending: failedEnding(hopeless.error) };
  const refusals = sent.map(({ act }) => after.refusals.get(stepKey(act.step)) ?? 0);
  return tryLater(after, first.error, now, Math.max(...refusals) || after.failures);
};
