import { ProofExpired, type Refused, Unavailable } from '../../fencing/model/errors.ts';
import type { AttachmentFacts, ClusterFacts, NodeFacts } from '../../fencing/model/cluster-facts.ts';
import { type MachineFacts, offStates } from '../../fencing/model/machine.ts';
import { timing, type Policy } from '../../fencing/model/policy.ts';
import type { FenceRecord } from '../../fencing/model/record.ts';
import { type Step, stepKey } from '../../fencing/model/steps.ts';
import { stepsOfCommand, type Command, RECHECK_LASTS_MS } from '../../fencing/loop/command.ts';
import { nextCommand } from '../../fencing/loop/next-command.ts';
import { type StepAnswer, reduce, type CommandResult } from '../../fencing/loop/reduce.ts';
import { startRun, type Ending, type Observation, type RunState } from '../../fencing/loop/state.ts';
import { isUnchanged } from '../../fencing/loop/sleep.ts';
import type { AwaitedAttachments, Memory, Moment } from '../../fencing/rules/view.ts';
import type { ExploredCloud } from './clouds.ts';
import { bootIdOf, NODE } from './facts.ts';
import { RUN_ID } from './story.ts';
import { afterTime, aTickLater, LONG_AGO, NOW, TICK_MS } from './time.ts';
import type { Assumption, NodeState } from './world.ts';

/** What a run knows. */
interface Known extends RunState {
  /** Whether the run remembered a fence when a person removed the whole fence. The shipped loop does not know this. */
  readonly isBound?: true;
}

/**
 * A run of Cloudfence while it waits for something, driven by the shipped loop. It has already done everything that
 * needs no wait.
 */

export type RunAt =
  /**
   * Waits for the answer to a question. If answers take no time in this scenario, a run that is frozen for too long
   * asks again.
   */
  | { readonly at: 'question'; readonly known: Known; readonly command: Question; readonly askedAt: Moment }
  /** One half of a look has been answered, or its answers are on their way. */
  | {
      readonly at: 'look';
      readonly known: Known;
      readonly command: Look;
      readonly askedAt: Moment;
      readonly half: Half;
    }
  /** The answer to a question is on its way. */
  | { readonly at: 'answer'; readonly known: Known; readonly command: Question; readonly result: CommandResult }
  /**
   * The steps have their permits. Steps without an answer have not been sent, or are on their way. `read`: what a slow
   * write has read of the Node before it sends its patch, or null.
   */
  | {
      readonly at: 'act';
      readonly known: Known;
      readonly command: Act;
      readonly answers: Answers;
      readonly read: NodeRead | null;
    }
  | { readonly at: 'sleep'; readonly known: Known; readonly command: Sleep; readonly until: number }
  | { readonly at: 'end'; readonly known: Known; readonly ending: Ending };

type Look = Extract<Command, { do: 'look' }>;
export type Question = Extract<Command, { do: 'look' | 'recheck' | 'witness' | 'survey-connectivity' | 'reserve' }>;
type Act = Extract<Command, { do: 'act' }>;
type Sleep = Extract<Command, { do: 'sleep' }>;
export type Acting = Extract<RunAt, { at: 'act' }>;
export type Asking = Extract<RunAt, { at: 'question' | 'look' }>;
type Answers = readonly (StepAnswer | null)[];
/** A read with its answer. The answer is on its way until it is received. */
export interface Read<T> extends Omit<Observation<T>, 'receivedAt'> {
  readonly receivedAt: number | null;
}

export interface Half {
  readonly machine: Read<MachineFacts> | null;
  readonly cluster: Read<ClusterFacts> | null;
}

/** The Node as a write has read it, and whether someone has written to it since. */
export interface NodeRead {
  readonly node: NodeState;
  readonly isOld: boolean;
}

/** The questions whose answers take time in a scenario, and whether a write of the Node takes time. */
export type Slow = ReadonlySet<'machine' | 'cluster' | 'recheck' | 'witness' | 'survey-connectivity' | 'write'>;

/**
 * `accepted`: the statement of a person for whom the run ends the fence, or null. `vouched`: the statement of a person
 * that the machine is off, or null.
 */
export const begin = (
  policy: Policy,
  { machine, identityRules }: ExploredCloud,
  { accepted = null, vouched = null }: { readonly accepted?: string | null; readonly vouched?: string | null } = {},
): RunAt =>
  waiting(
    startRun({
      request: { machine, intent: accepted === null ? 'fence' : 'release', accepted, vouched },
      policy,
      identityRules,
      runId: RUN_ID,
      deadline: Infinity,
      location: { cluster: 'a-cluster', node: NODE },
      ...((accepted ?? vouched) !== null && { statedAt: NOW.mono }),
    }),
  );

/** A read that a look is about to replace has no influence any more. */
const forLook = (known: Known, { cluster, search }: Look): Known =>
  cluster && !search ? { ...known, cluster: null } : known;

/** Returns the run once it has to wait for something, or has ended. */
const waiting = (known: Known): RunAt => {
  if (known.ending) return { at: 'end', known, ending: known.ending };
  const command = commandOf(known);
  switch (command.do) {
    case 'look':
      return { at: 'question', known: forLook(canonical(known), command), command, askedAt: NOW };
    case 'recheck':
    case 'witness':
    case 'survey-connectivity':
    case 'reserve':
      return { at: 'question', known: canonical(known), command, askedAt: NOW };
    case 'act':
      return {
        at: 'act',
        known: canonical(known),
        command,
        answers: stepsOfCommand(command).map(() => null),
        read: null,
      };
    case 'sleep':
      return { at: 'sleep', known: canonical(known), command, until: awaited(NOW.mono + command.ms) ?? NOW.mono };
    case 'end':
      return { at: 'end', known, ending: command.ending };
    case 'imagine':
      return learned(known, command, { to: 'imagine' });
    case 'locate':
    case 'conclude':
    case 'record-events':
    case 'finish':
      throw new Error(`no run of an exploration gets to ${command.do}`);
  }
};

/** Returns the next command of the run, at the present moment. */
const commandOf = (known: RunState): Command => withoutBegin(nextCommand(known, NOW));

/** The time at which a fence began has no influence, so one time stands for all. */
const begunLongAgo = (record: FenceRecord): FenceRecord => ({
  ...record,
  begun: new Date(LONG_AGO.wall).toISOString(),
});

const withoutBegin = (command: Command): Command => {
  if (command.do !== 'act' || !('record' in command.step) || command.step.record === null) return command;
  return { ...command, step: { ...command.step, record: begunLongAgo(command.step.record) } as Step };
};

const NOT_STALE_MS = 2 * TICK_MS;

/** A read of the machine that is too old for a decision keeps only what it says. */
const machineOf = ({ machine }: Pick<RunState, 'machine'>): RunState['machine'] =>
  machine && NOW.mono - machine.receivedAt >= NOT_STALE_MS
    ? { ...machine, requestedAt: LONG_AGO, receivedAt: LONG_AGO.mono }
    : machine;

/** A read of the cluster that is too old to be used counts as no read. None of them took too long to be used. */
const clusterOf = ({ cluster }: RunState): RunState['cluster'] =>
  cluster && NOW.mono - cluster.receivedAt < timing.clusterFacts
    ? { ...cluster, requestedAt: { ...LONG_AGO, mono: cluster.receivedAt } }
    : null;

/** A time in the past becomes null. Any other is rounded to whole ticks. */
const awaited = (moment: number | null): number | null =>
  moment === null || moment <= NOW.mono ? null : NOW.mono + Math.ceil((moment - NOW.mono) / TICK_MS) * TICK_MS;

/** Steps whose time or object a rule uses later. Any other step has an influence only on the last sentence of a run. */
const ASKED_FOR = /^(?:detach-disk|nudge|power-off|fail-pod) /;

/** The first step of a release for a person. Only whether it was taken has an influence. */
const FIRST_OF_RELEASE = /^lift-out-of-service /;

/** For a time of a step, a volume, a survey, or a proof, no rule distinguishes two ticks ago from longer ago. */
const TWO_TICKS_AGO = NOW.mono - 2 * TICK_MS;
const AT_TWO_TICKS: Moment = { wall: NOW.wall - 2 * TICK_MS, mono: TWO_TICKS_AGO };
const notOlder = (at: number): number => Math.max(at, TWO_TICKS_AGO);

const takenAtOf = ({ memory: { takenAt }, request }: RunState): Memory['takenAt'] => {
  const taken = [...takenAt];
  return new Map([
    ...taken.filter(([key]) => ASKED_FOR.test(key)).map(([key, at]) => [key, notOlder(at)] as const),
    ...taken
      .filter(([key]) => request.accepted !== null && FIRST_OF_RELEASE.test(key))
      .map(([key]) => [key, LONG_AGO.mono] as const),
  ]);
};

const firstOffOf = ({ firstOff }: Memory): Memory['firstOff'] =>
  firstOff && { ...firstOff, wall: Math.max(firstOff.wall, NOW.wall - 2 * TICK_MS), mono: notOlder(firstOff.mono) };

const connectivityOf = ({ connectivity }: Memory): Memory['connectivity'] =>
  connectivity && { ...connectivity, requestedAt: notOlder(connectivity.requestedAt) };

/** When a statement was made has no influence any more once the run knows what it is about. */
const statedAtOf = ({ request, memory: { statedAt, firstFence, firstBoot, firstGeneration } }: RunState) => {
  const isKnown =
    request.accepted === null ? firstBoot !== undefined && firstGeneration !== undefined : firstFence !== undefined;
  return isKnown || statedAt === null ? null : Math.max(statedAt, NOW.mono - timing.statement - TICK_MS);
};

/** A recheck that is too old clears only its own step, however old it is. */
const clearedOf = ({ cleared }: RunState): RunState['cleared'] =>
  cleared && NOW.mono - cleared.at >= RECHECK_LASTS_MS ? { ...cleared, at: LONG_AGO.mono } : cleared;

/**
 * Removes everything that has no influence any more, so that runs with the same future are the same. In these worlds,
 * no pod comes back to the Node, so the pods and disks that a run freed have no influence. A run never gives up a
 * refused step.
 */
const canonical = (known: Known): Known => ({
  ...known,
  machine: machineOf(known),
  cluster: clusterOf(known),
  pending: null,
  resumeAt: awaited(known.resumeAt),
  cleared: clearedOf(known),
  failures: 0,
  refusals: new Map(),
  steps: imaginedSteps(known),
  memory: {
    ...known.memory,
    firstOff: firstOffOf(known.memory),
    leaseSince: known.memory.leaseSince === null ? null : notOlder(known.memory.leaseSince),
    firstStopping: known.memory.firstStopping && { ...known.memory.firstStopping, at: LONG_AGO.wall },
    connectivity: connectivityOf(known.memory),
    untainted: known.memory.untainted && { ...known.memory.untainted, since: notOlder(known.memory.untainted.since) },
    statedAt: statedAtOf(known),
    polls: 0,
    marks: 0,
    markIsNew: markIsNewTo(known),
    takenAt: takenAtOf(known),
    unwanted: new Map([...known.memory.unwanted].map(([key, at]) => [key, notOlder(at)])),
    deleted: new Map(),
    detached: new Set(),
  },
});

/** A run that has imagined a step ends at the next wait. The time of that step has no influence. */
const imaginedSteps = ({ steps }: RunState): RunState['steps'] =>
  steps.filter(({ result }) => result === 'dry-run').map((step) => ({ ...step, at: LONG_AGO.wall, ms: 0 }));

/** Whether the mark is younger than the read only matters for a lift, and a machine that is off gets none. */
const markIsNewTo = ({ machine, memory }: RunState): boolean =>
  memory.markIsNew && machine !== null && !offStates.has(machine.value.power);

const readLater = <T extends object>(read: Observation<T> | null): Observation<T> | null =>
  read && {
    value: aTickLater(read.value),
    requestedAt: afterTime(read.requestedAt, TICK_MS),
    receivedAt: afterTime(read.receivedAt, TICK_MS),
  };

/** No rule distinguishes a question that was asked two ticks ago from an older one. */
const askedLater = (askedAt: Moment): Moment => {
  const later = afterTime(askedAt, TICK_MS);
  return later.mono <= TWO_TICKS_AGO ? AT_TWO_TICKS : later;
};

/** A read that waits for the other half of its look is too old to be used after two ticks. */
const halfLater = <T extends object>(read: Read<T> | null): Read<T> | null =>
  read && {
    value: aTickLater(read.value),
    requestedAt: askedLater(read.requestedAt),
    receivedAt: read.receivedAt === null ? null : notOlder(afterTime(read.receivedAt, TICK_MS)),
  };

const machineHalfLater = (read: Half['machine']): Half['machine'] => {
  if (!read || read.receivedAt === null) return halfLater(read);
  return machineOf({ machine: readLater({ ...read, receivedAt: read.receivedAt }) });
};

/** Returns whether the question takes time. A run that has asked it waits for its answer, however long that takes. */
const takesTime = (command: Question, slow: Slow): boolean =>
  command.do === 'look'
    ? (command.machine && slow.has('machine')) || (command.cluster && slow.has('cluster'))
    : command.do !== 'reserve' && slow.has(command.do);

const resultLater = (result: CommandResult): CommandResult => {
  const later = afterTime(result, TICK_MS);
  return 'requestedAt' in result && 'requestedAt' in later
    ? { ...later, requestedAt: askedLater(result.requestedAt) }
    : later;
};

const commandLater = <T extends Command>(command: T): T =>
  'step' in command ? { ...afterTime({ ...command, step: null }, TICK_MS), step: aTickLater(command.step) } : command;

const knownLater = (known: Known): Known =>
  canonical({
    ...known,
    machine: readLater(known.machine),
    cluster: readLater(known.cluster),
    record: aTickLater(known.record),
    resumeAt: afterTime(known.resumeAt, TICK_MS),
    cleared: afterTime(known.cleared, TICK_MS),
    memory: aTickLater(known.memory),
  });

/** Returns the run one tick later, if it is frozen for that long, or if nothing answers. */
export const runLater = (
  run: RunAt,
  { slow, assumption: { transit } }: { readonly slow: Slow; readonly assumption: Pick<Assumption, 'transit'> },
): RunAt => {
  if (run.at === 'end') return run;
  const known = knownLater(run.known);
  switch (run.at) {
    case 'question':
      return takesTime(run.command, slow)
        ? { ...run, known, command: commandLater(run.command), askedAt: askedLater(run.askedAt) }
        : waiting(known);
    case 'look': {
      const half = { machine: machineHalfLater(run.half.machine), cluster: halfLater(run.half.cluster) };
      const askedAt = takesTime(run.command, slow) ? askedLater(run.askedAt) : NOW;
      return { ...run, known, askedAt, half };
    }
    case 'answer':
      return { ...run, known, command: commandLater(run.command), result: resultLater(run.result) };
    case 'act': {
      const later = { ...run, known, command: commandLater(run.command), read: aTickLater(run.read) };
      const lost = callsOf(later).filter((call) => NOW.mono >= call.leaveBy + transit * TICK_MS);
      return lost.reduce<RunAt>((after, call) => (after.at === 'act' ? acted(after, call, 'expired') : after), later);
    }
    case 'sleep': {
      const until = afterTime(run.until, TICK_MS);
      const later = { ...run, known, until, command: { ...run.command, until: awaitedLater(run.command.until) } };
      return until <= NOW.mono ? rested(later) : later;
    }
  }
};

/** Returns the run after a result. */
export const learned = (known: Known, command: Command, result: CommandResult): RunAt =>
  waiting(canonical({ ...reduce(known, command, result, NOW), ...(known.isBound && { isBound: true }) }));

type Sleeping = Extract<RunAt, { at: 'sleep' }>;

const awaitedLater = (until: AwaitedAttachments | null): AwaitedAttachments | null =>
  until && { ...until, deletedBy: Math.max(afterTime(until.deletedBy, TICK_MS), NOW.mono - TICK_MS) };

/** Returns the run after its sleep. */
export const rested = ({ known, command }: Sleeping): RunAt => learned(known, command, { to: 'sleep', polls: 0 });

/** Returns whether an attachment, or the machine, ends the sleep of the run. */
export const isOver = (
  { command: { until }, known: { machine: before, memory } }: Sleeping,
  attachment: AttachmentFacts | null,
  machine: MachineFacts,
): boolean => {
  const [seen] = until?.attachments ?? [];
  if ((seen || memory.mark !== null) && before && !isUnchanged(before.value, machine)) return true;
  if (!until || !seen) return false;
  return attachment?.uid !== seen.uid || (attachment.deletingSince === null && NOW.mono >= until.deletedBy);
};

/** Returns the read as the run has it. Undefined while it is on its way. */
const received = <T>(read: Read<T> | null): Observation<T> | null | undefined => {
  if (read === null) return null;
  const { receivedAt } = read;
  return receivedAt === null ? undefined : { ...read, receivedAt };
};

/** Returns the run after a part of its look was answered, or received. */
export const answered = ({ known, command, askedAt }: Asking, half: Half): RunAt => {
  if (command.do !== 'look') throw new Error(`${command.do} has no halves`);
  const [machine, cluster] = [received(half.machine), received(half.cluster)];
  const isHalf = (command.machine && !machine) || (command.cluster && !cluster);
  return isHalf || machine === undefined || cluster === undefined
    ? { at: 'look', known, command, askedAt, half }
    : learned(known, command, { to: 'look', machine, cluster });
};

/** One call of a command that has no answer yet. */
export interface Call {
  readonly nth: number;
  readonly step: Step;
  /** When it must be sent at the latest, or never (monotonic ms). */
  readonly leaveBy: number;
}

/** Returns the calls that have no answer yet. */
export const callsOf = ({ command, answers }: Acting): readonly Call[] =>
  stepsOfCommand(command).flatMap(({ step, leaveBy }, nth) =>
    answers[nth] === null ? [{ nth, step, leaveBy: Math.min(command.expires, leaveBy) }] : [],
  );

const answerOf = (result: 'done' | 'lost' | 'expired' | Refused): StepAnswer => {
  switch (result) {
    case 'lost':
      return new Unavailable('the answer is lost');
    case 'expired':
      return new ProofExpired('the proof has expired');
    default:
      return result;
  }
};

/** Returns the run after a call took effect, was refused, or got no answer. The run continues after the last call. */
export const acted = (run: Acting, { nth }: Call, result: 'done' | 'lost' | 'expired' | Refused): RunAt => {
  const answers = run.answers.map((answer, at) => (at === nth ? answerOf(result) : answer));
  const all = answers.filter((answer) => answer !== null);
  return all.length < answers.length
    ? { ...run, answers }
    : learned(run.known, run.command, { to: 'act', answers: all, sentAt: NOW });
};

/** Returns the run after its write has read the Node. */
export const withRead = (run: Acting, node: NodeState): Acting => ({ ...run, read: { node, isOld: false } });

/** Returns the run with the name of the fence that its step begins. */
export const begun = (run: Acting, step: Step): Acting => ({ ...run, command: { ...run.command, step } });

export const hasExpired = ({ leaveBy }: Call): boolean => leaveBy <= NOW.mono;

const olderVersion = (node: NodeFacts): NodeFacts => ({ ...node, resourceVersion: 'old' });

const outdatedFacts = <T extends Read<ClusterFacts>>(read: T | null): T | null =>
  read?.value.node?.resourceVersion === 'now'
    ? { ...read, value: { ...read.value, node: olderVersion(read.value.node) } }
    : read;

const outdatedStep = (step: Step): Step =>
  'node' in step && step.node.resourceVersion === 'now'
    ? { ...step, node: { ...step.node, resourceVersion: 'old' } }
    : step;

/** Returns the run after someone has written to the Node: the resourceVersion that it has read is an old one. */
export const outdated = (run: RunAt): RunAt => {
  const known = { ...run.known, cluster: outdatedFacts(run.known.cluster) };
  if (run.at === 'look') return { ...run, known, half: { ...run.half, cluster: outdatedFacts(run.half.cluster) } };
  if (run.at !== 'act') return { ...run, known };
  const command = { ...run.command, step: outdatedStep(run.command.step) };
  return { ...run, known, command, read: run.read && { ...run.read, isOld: true } };
};

/** Returns whether the run remembers a fence of this Node in its present boot. */
const remembers = ({ record }: Known, { uid, boot }: NodeState, generation: string | null): boolean =>
  record !== null && record.nodeUid === uid && record.bootID === bootIdOf({ boot }) && record.generation === generation;

/**
 * Returns the run after a person removed the whole fence from the Node. It must not restore a fence that it remembers.
 */
export const bound = (run: RunAt, node: NodeState, generation: string | null): RunAt =>
  remembers(run.known, node, generation) ? { ...run, known: { ...run.known, isBound: true } } : run;

const listed = (map: ReadonlyMap<string, unknown>): unknown => [...map];

const texts = new Map<string, number>();
const numberOfFacts = new WeakMap<object, number>();

/** Returns a number for each text. Two facts have the same number only if their texts are the same. */
const numberOf = (facts: object | null): number => {
  if (facts === null) return -1;
  const known = numberOfFacts.get(facts);
  if (known !== undefined) return known;
  const text = JSON.stringify(facts);
  const number = texts.get(text) ?? texts.size;
  texts.set(text, number);
  numberOfFacts.set(facts, number);
  return number;
};

const readText = (read: Read<object> | null): unknown =>
  read && [numberOf(read.value), read.requestedAt.mono, read.requestedAt.wall, read.receivedAt];

const memoryText = ({ sinceLook, takenAt, unwanted, declined, ...rest }: Memory): unknown => [
  rest,
  [...sinceLook],
  listed(takenAt),
  listed(unwanted),
  listed(declined),
];

const questionText = (command: Question): unknown =>
  command.do === 'recheck' ? [command.do, stepKey(command.step)] : command;

const waitsFor = (run: RunAt): unknown => {
  switch (run.at) {
    case 'question':
      return run.askedAt === NOW ? run.command.do : [questionText(run.command), run.askedAt.mono];
    case 'look':
      return [run.command, run.askedAt.mono, readText(run.half.machine), readText(run.half.cluster)];
    case 'answer':
      return [questionText(run.command), run.result];
    case 'act':
      return [
        stepsOfCommand(run.command).map(({ step, leaveBy }) => [numberOf(step), leaveBy]),
        run.command.expires,
        run.answers.map((answer) => (answer instanceof Error ? answer.name : answer)),
        run.read && [numberOf(run.read.node), run.read.isOld],
      ];
    case 'sleep':
      return [run.until, run.command.until?.attachments[0]?.uid, run.command.until?.deletedBy];
    case 'end':
      return null;
  }
};

/**
 * Returns a text for the run. Two runs have the same text only if they will do the same. The text omits what is the
 * same for all runs.
 */
export const runText = (run: RunAt): string => {
  const { request, machine, cluster, record, memory, proofRenewed, cleared, resumeAt, isBound } = run.known;
  const read = [readText(machine), readText(cluster), numberOf(record)];
  const text = JSON.stringify([
    run.at,
    read,
    memoryText(memory),
    proofRenewed,
    cleared,
    resumeAt,
    waitsFor(run),
    isBound,
  ]);
  const statement = request.accepted ?? request.vouched;
  return statement === null ? text : `${statement}: ${text}`;
};
