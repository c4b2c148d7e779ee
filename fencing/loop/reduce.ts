import type { StepResult } from '../model/cluster.ts';
import type { Census, ClusterFacts, NodeFacts, Recheck } from '../model/cluster-facts.ts';
import {
  type CloudfenceError,
  PermissionDenied,
  InvalidConfiguration,
  InvalidInput,
  ProofExpired,
  Refused,
  Unexpected,
} from '../model/errors.ts';
import { stepProperties } from '../model/steps.ts';
import { applyImagined } from './imagine.ts';
import {
  baselineLease,
  withClusterRead,
  type Ending,
  type RunState,
  withMachineRead,
  type Observation,
} from './state.ts';
import type { Admission } from '../model/ledger.ts';
import type { MachineFacts, Witness } from '../model/machine.ts';
import type { Command } from './next-command.ts';
import { type ClusterSearchResult, withLocation } from './locate.ts';
import { because, type Reason, type ReasonCode } from '../model/reason.ts';
import { applyStepResult, applyStepError } from './apply-step.ts';
import type { Moment } from '../rules/view.ts';

/** What a recheck read, and the step that it was made for. */
interface Rechecked {
  readonly says: Recheck;
  readonly askedAt: Moment;
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
  | { readonly to: 'witness'; readonly says: Witness }
  | { readonly to: 'survey-connectivity'; readonly says: Census }
  | { readonly to: 'claim'; readonly says: Admission; readonly recheck: Rechecked | null }
  | ({ readonly to: 'recheck' } & Rechecked)
  | { readonly to: 'act'; readonly says: StepResult; readonly sentAt: Moment }
  | { readonly to: 'imagine' | 'pause' | 'record-event' | 'conclude' }
  | { readonly to: 'end'; readonly ending: Ending }
  | { readonly to: 'failed'; readonly error: CloudfenceError; readonly sentAt: Moment };

const FIRST_BACK_OFF_MS = 500;
const LONGEST_BACK_OFF_MS = 8_000;

const backOff = (times: number): number => Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** times);

/** Returns the run state after the result of a command. Pure. */
export const reduce = (known: RunState, command: Command, result: CommandResult, now: Moment): RunState => {
  switch (result.to) {
    case 'look':
      return looked(known, command, result, now);
    case 'locate':
      return withLocation(known, result.found, now);
    case 'witness':
      return { ...known, memory: { ...known.memory, witness: result.says } };
    case 'survey-connectivity':
      return { ...known, memory: { ...known.memory, connectivity: result.says } };
    case 'claim':
      return claimed(known, result);
    case 'recheck':
      return rechecked(known, result);
    case 'act':
      return command.do === 'act' ? applyStepResult(known, command, result.says, result.sentAt, now) : known;
    case 'imagine':
      return command.do === 'imagine' ? applyImagined(known, command, now) : known;
    case 'pause':
      return rested(known, command);
    case 'record-event':
      return { ...known, eventRecorded: true };
    case 'conclude':
      return { ...known, concluded: true };
    case 'end':
      return { ...known, ending: result.ending };
    case 'failed':
      return failed(known, command, result.error, result.sentAt, now);
  }
};

const looked = (
  known: RunState,
  command: Command,
  { machine, cluster }: Extract<CommandResult, { to: 'look' }>,
  now: Moment,
): RunState => {
  const renewed = machine && command.do === 'look' && !command.disks ? withDisksOf(machine, known.machine) : machine;
  const withMachine = renewed ? withMachineRead(known, renewed, now) : known;
  const withBoth = cluster ? withClusterRead(withMachine, cluster, now) : withMachine;
  const proofRenewed = machine ? renewed !== machine : known.proofRenewed;
  const searched = withBoth.memory.searched || (command.do === 'look' && command.search);
  return { ...withBoth, proofRenewed, memory: { ...withBoth.memory, searched }, cleared: null };
};

/**
 * Adds the disks of the previous read. A proof is renewed without reading the disks again, because they are as they
 * were a moment ago.
 */
const withDisksOf = (
  machine: Observation<MachineFacts>,
  before: Observation<MachineFacts> | null,
): Observation<MachineFacts> =>
  before ? { ...machine, says: { ...machine.says, disks: before.says.disks } } : machine;

/**
 * Returns whether the taint was removed or is no longer ours. A taint of someone else's that replaced ours does not
 * count.
 */
const isUntainted = (node: NodeFacts, { taints }: Recheck): boolean =>
  (node.taints.outOfService && !taints.outOfService) || (node.taints.ours && !taints.ours);

/** Returns whether the record, the taint, or the Node changed since the last look. */
const moved = ({ node, nameTaken }: ClusterFacts, says: Recheck): boolean => {
  if (nameTaken) return false;
  const untainted = node !== null && isUntainted(node, says);
  return untainted || says.uid !== (node?.uid ?? null) || says.recordText !== (node?.recordText ?? null);
};

/** Clears the step to leave, or makes the run look again if the world changed between the look and the call. */
const rechecked = (known: RunState, { says, step, askedAt }: Rechecked): RunState => {
  const { cluster, memory } = known;
  if (!cluster || moved(cluster.says, says)) return { ...known, cluster: null, cleared: null };
  // Under a reused name, the Lease belongs to the new Node and says nothing about this machine.
  if (cluster.says.nameTaken) return { ...known, cleared: step };
  return {
    ...known,
    cluster: { ...cluster, says: { ...cluster.says, lease: says.lease } },
    memory: { ...memory, ...baselineLease(memory, says.lease, askedAt) },
    cleared: step,
  };
};

const claimed = (known: RunState, { says, recheck }: Extract<CommandResult, { to: 'claim' }>): RunState => {
  const after = { ...known, memory: { ...known.memory, admission: says } };
  return recheck ? rechecked(after, recheck) : after;
};

const rested = (known: RunState, command: Command): RunState => {
  const lately =
    command.do === 'pause' && known.resumeAt === null
      ? { outcome: 'waiting' as const, reason: command.because, ms: command.ms }
      : known.lately;
  const memory = {
    ...known.memory,
    polls: known.memory.polls + 1,
    sinceLook: new Set<string>(),
    witness: null,
    connectivity: null,
  };
  return { ...known, machine: null, cluster: null, cleared: null, resumeAt: null, lately, memory };
};

const failed = (known: RunState, command: Command, error: CloudfenceError, sentAt: Moment, now: Moment): RunState => {
  if (command.do === 'record-event') return { ...known, eventRecorded: true };
  if (command.do === 'conclude') return { ...known, concluded: true };
  if (error instanceof ProofExpired) return expired(known, now);
  const after = command.do === 'act' ? applyStepError(known, command, error, sentAt, now) : known;
  if (after.ending) return after;
  const passedBy = command.do === 'act' && stepProperties[command.step.do].perObject;
  const hopeless =
    (error instanceof PermissionDenied && !wasAllowedBefore(known, command)) ||
    error instanceof InvalidInput ||
    error instanceof InvalidConfiguration ||
    error instanceof Unexpected;
  return hopeless && !passedBy ? { ...after, ending: failedEnding(error) } : tryLater(after, error, now);
};

/**
 * Returns whether this run was allowed the same kind of read before. Then a denial is not final: an API server that has
 * just started knows no roles yet.
 */
const wasAllowedBefore = ({ memory }: RunState, command: Command): boolean =>
  memory.firstLease !== undefined && (command.do === 'recheck' || (command.do === 'look' && !command.search));

const EXPIRIES_BEFORE_A_PAUSE = 2;

/** Makes the run renew the proof at once. If proofs keep expiring, the run pauses first. */
const expired = (known: RunState, now: Moment): RunState => {
  const failures = known.failures + 1;
  const resumeAt = failures > EXPIRIES_BEFORE_A_PAUSE ? now.mono + backOff(failures) : null;
  const lately = {
    outcome: 'waiting' as const,
    reason: because(
      'unavailable',
      'each proof expires before Cloudfence can use it, because the cloud or the cluster responds too slowly',
    ),
    ms: backOff(failures),
  };
  return { ...known, machine: null, cleared: null, failures, resumeAt, lately };
};

const codeOf = (error: CloudfenceError): ReasonCode => {
  if (error instanceof PermissionDenied) return 'denied';
  if (error instanceof Refused) return 'step-refused';
  if (error instanceof Unexpected) return 'unexpected';
  return error instanceof InvalidInput || error instanceof InvalidConfiguration ? 'invalid' : 'unavailable';
};

/** Returns the reason for a caught error. */
export const reasonOf = (error: CloudfenceError): Reason => because(codeOf(error), error.message);

/** Returns the ending of a run that an error ended. */
export const failedEnding = (error: CloudfenceError): Ending => ({
  outcome: 'failed',
  reason: reasonOf(error),
  lookAgainIn: null,
  retry: error.retry,
});

const tryLater = (known: RunState, error: CloudfenceError, now: Moment): RunState => {
  const ms = backOff(known.refusals?.times ?? known.failures);
  return {
    ...known,
    machine: null,
    cluster: null,
    cleared: null,
    failures: known.failures + 1,
    resumeAt: now.mono + ms,
    lately: { outcome: 'failed', reason: reasonOf(error), ms },
    memory: { ...known.memory, sinceLook: new Set() },
  };
};
