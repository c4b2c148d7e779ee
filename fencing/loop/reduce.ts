import type { Applied } from '../model/cluster.ts';
import type { Census, ClusterFacts, NodeFacts, Recheck } from '../model/cluster-facts.ts';
import {
  type CloudfenceError,
  Denied,
  InvalidConfiguration,
  InvalidInput,
  ProofExpired,
  Refused,
  Unexpected,
} from '../model/errors.ts';
import { stepTraits } from '../model/steps.ts';
import { imagined } from './imagine.ts';
import { baselineLease, clusterRead, type Ending, type Known, machineRead, type Read } from './state.ts';
import type { Admission } from '../model/ledger.ts';
import type { MachineFacts, Witness } from '../model/machine.ts';
import type { Command } from './next-command.ts';
import { type Found, placed } from './locate.ts';
import { because, type Reason, type ReasonCode } from '../model/reason.ts';
import { acted, notActed } from './apply-step.ts';
import type { Moment } from '../rules/view.ts';

/** What came back from a command. */
export type Answer =
  | { readonly to: 'look'; readonly machine: Read<MachineFacts> | null; readonly cluster: Read<ClusterFacts> | null }
  | { readonly to: 'locate'; readonly found: readonly Found[] }
  | { readonly to: 'witness'; readonly says: Witness }
  | { readonly to: 'census'; readonly says: Census }
  | { readonly to: 'claim'; readonly says: Admission }
  | { readonly to: 'recheck'; readonly says: Recheck; readonly askedAt: Moment; readonly step: string }
  | { readonly to: 'act'; readonly says: Applied; readonly sentAt: Moment }
  | { readonly to: 'imagine' | 'pause' | 'tell' | 'conclude' }
  | { readonly to: 'end'; readonly ending: Ending }
  | { readonly to: 'failed'; readonly error: CloudfenceError; readonly sentAt: Moment };

const FIRST_BACK_OFF_MS = 500;
const LONGEST_BACK_OFF_MS = 8_000;

const backOff = (times: number): number => Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** times);

/** Adds an answer to what is known. Pure. */
export const learn = (known: Known, command: Command, answer: Answer, now: Moment): Known => {
  switch (answer.to) {
    case 'look':
      return looked(known, command, answer, now);
    case 'locate':
      return placed(known, answer.found, now);
    case 'witness':
      return { ...known, memory: { ...known.memory, witness: answer.says } };
    case 'census':
      return { ...known, memory: { ...known.memory, census: answer.says } };
    case 'claim':
      return { ...known, memory: { ...known.memory, admission: answer.says } };
    case 'recheck':
      return rechecked(known, answer.says, answer.step, answer.askedAt);
    case 'act':
      return command.do === 'act' ? acted(known, command, answer.says, answer.sentAt, now) : known;
    case 'imagine':
      return command.do === 'imagine' ? imagined(known, command, now) : known;
    case 'pause':
      return rested(known, command);
    case 'tell':
      return { ...known, told: true };
    case 'conclude':
      return { ...known, concluded: true };
    case 'end':
      return { ...known, ending: answer.ending };
    case 'failed':
      return failed(known, command, answer.error, answer.sentAt, now);
  }
};

const looked = (known: Known, command: Command, { machine, cluster }: Extract<Answer, { to: 'look' }>, now: Moment): Known => {
  const renewed = machine && command.do === 'look' && !command.disks ? withDisksOf(machine, known.machine) : machine;
  const withMachine = renewed ? machineRead(known, renewed, now) : known;
  const withBoth = cluster ? clusterRead(withMachine, cluster, now) : withMachine;
  const proofRenewed = machine ? renewed !== machine : known.proofRenewed;
  const searched = withBoth.memory.searched || (command.do === 'look' && command.search);
  return { ...withBoth, proofRenewed, memory: { ...withBoth.memory, searched }, cleared: null };
};

/** A proof was renewed without asking for the disks again: they are as they were a moment ago. */
const withDisksOf = (machine: Read<MachineFacts>, before: Read<MachineFacts> | null): Read<MachineFacts> =>
  before ? { ...machine, says: { ...machine.says, disks: before.says.disks } } : machine;

/** One of somebody else's in the place of ours is no longer ours. */
const isUntainted = (node: NodeFacts, { taints }: Recheck): boolean =>
  (node.taints.outOfService && !taints.outOfService) || (node.taints.ours && !taints.ours);

/** Somebody wrote the record, took the taint or replaced the Node since it was looked at. */
const moved = ({ node, nameTaken }: ClusterFacts, says: Recheck): boolean => {
  if (nameTaken) return false;
  const untainted = node !== null && isUntainted(node, says);
  return untainted || says.uid !== (node?.uid ?? null) || says.recordText !== (node?.recordText ?? null);
};

/** When the world has moved between the look and the call, look again. Otherwise the step is cleared to leave. */
const rechecked = (known: Known, says: Recheck, step: string, askedAt: Moment): Known => {
  const { cluster, memory } = known;
  if (!cluster || moved(cluster.says, says)) return { ...known, cluster: null, cleared: null };
  // Under a reused name the Lease is the new Node's, and says nothing of this machine.
  if (cluster.says.nameTaken) return { ...known, cleared: step };
  const lease = baselineLease(memory, says.lease, askedAt);
  return { ...known, cluster: { ...cluster, says: { ...cluster.says, lease: says.lease } }, memory: { ...memory, lease }, cleared: step };
};

const rested = (known: Known, command: Command): Known => {
  const lately = command.do === 'pause' && known.resumeAt === null ? { outcome: 'waiting' as const, reason: command.because, ms: command.ms } : known.lately;
  const memory = { ...known.memory, polls: known.memory.polls + 1, sinceLook: new Set<string>(), witness: null, census: null };
  return { ...known, machine: null, cluster: null, cleared: null, resumeAt: null, lately, memory };
};

const failed = (known: Known, command: Command, error: CloudfenceError, sentAt: Moment, now: Moment): Known => {
  if (command.do === 'tell') return { ...known, told: true };
  if (command.do === 'conclude') return { ...known, concluded: true };
  if (error instanceof ProofExpired) return expired(known, now);
  const after = command.do === 'act' ? notActed(known, command, error, sentAt, now) : known;
  if (after.ending) return after;
  const passedBy = command.do === 'act' && stepTraits[command.step.do].perObject;
  const hopeless = (error instanceof Denied && !letThroughBefore(known, command)) || error instanceof InvalidInput || error instanceof InvalidConfiguration || error instanceof Unexpected;
  return hopeless && !passedBy ? { ...after, ending: failedEnding(error) } : tryLater(after, error, now);
};

/** What this very run was let at before is not forbidden for good: an API server that has just come up knows no roles yet. */
const letThroughBefore = ({ memory }: Known, command: Command): boolean =>
  memory.firstLease !== undefined && (command.do === 'recheck' || (command.do === 'look' && !command.search));

const EXPIRIES_BEFORE_A_PAUSE = 2;

/** The proof is renewed at once; when it keeps expiring, not in a hurry. */
const expired = (known: Known, now: Moment): Known => {
  const failures = known.failures + 1;
  const resumeAt = failures > EXPIRIES_BEFORE_A_PAUSE ? now.mono + backOff(failures) : null;
  const lately = { outcome: 'waiting' as const, reason: because('unavailable', 'proofs expire before they can be used: the cloud or the cluster answers too slowly'), ms: backOff(failures) };
  return { ...known, machine: null, cleared: null, failures, resumeAt, lately };
};

const codeOf = (error: CloudfenceError): ReasonCode => {
  if (error instanceof Denied) return 'denied';
  if (error instanceof Refused) return 'step-refused';
  if (error instanceof Unexpected) return 'unexpected';
  return error instanceof InvalidInput || error instanceof InvalidConfiguration ? 'invalid' : 'unavailable';
};

/** The reason that a caught error gives. */
export const reasonOf = (error: CloudfenceError): Reason => because(codeOf(error), error.message);

/** How a run ends that an error has ended. */
export const failedEnding = (error: CloudfenceError): Ending => ({ outcome: 'failed', reason: reasonOf(error), lookAgainIn: null, retry: error.retry });

const tryLater = (known: Known, error: CloudfenceError, now: Moment): Known => {
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
