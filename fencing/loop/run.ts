import pLimit from 'p-limit';
import type { StepResult } from '../model/cluster.ts';
import { asCloudfenceError, type CloudfenceError } from '../model/errors.ts';
import type { MachineFacts, MachineId } from '../model/machine.ts';
import type { Outcome, StepReport } from '../model/outcome.ts';
import { type Permit, permitUntil } from '../model/permit.ts';
import type { Reason } from '../model/reason.ts';
import { stepKey, type CloudStep, type Step } from '../model/steps.ts';
import type { Moment } from '../rules/view.ts';
import { admitByPace, FIRST_RUNS } from './admission.ts';
import { outcomeOf, failedEnding } from './ending.ts';
import { searchClusters, runLook } from './look.ts';
import { type StepAnswer, reduce, type CommandResult } from './reduce.ts';
import { stepsOfCommand, RECHECK_LASTS_MS, type Command } from './command.ts';
import { nextCommand } from './next-command.ts';
import { abortOnSignal, clusterAt, endInTime, errorOfCall, halfOf, type Ports } from './ports.ts';
import { sleepOrPoll } from './sleep.ts';
import { startRun, type ClusterLocation, type Observation, type RunState, type Start } from './state.ts';
import { withMachineRead } from './reads.ts';
import { createSharedLooks, lookAtAll } from './groups.ts';
import { takeSurvey } from './survey.ts';

/** What all runs of one invocation share. */
export interface SharedRunOptions extends Omit<
  Start,
  'request' | 'runId' | 'identityRules' | 'location' | 'attachments' | 'steps' | 'statedAt'
> {
  readonly newRunId: () => string;
  /**
   * The time limit of one run (ms). With a limit, a run that only waits leaves time for the others. Without a limit,
   * each run may last until the common deadline.
   */
  readonly runLasts?: number;
  /** The reason of a person who vouches that the machines are off. */
  readonly vouched?: string | null;
}

/**
 * Where a machine was found just before the run. The run looks there directly and verifies it, instead of searching all
 * clusters.
 */
export interface LocationHint {
  /** Null if the machine was found in several places. */
  readonly location: ClusterLocation | null;
  /**
   * Why it is uncertain whether this Node belongs to the machine, if several Nodes name the machine. Null otherwise.
   */
  readonly ambiguity: Reason | null;
  /** Attachments that name the machine if its Node is gone. */
  readonly attachments: readonly string[] | null;
  /** Steps that were taken on the Node before the run. */
  readonly steps: readonly StepReport[];
}

/**
 * The maximum number of concurrent runs: low enough for the APIs, and high enough that one slow machine does not delay
 * the others. The higher limit applies if the runs share their reads of the cloud. While the process lacks processor
 * time, fewer runs begin.
 */
const AT_A_TIME = { apart: 5, together: 30 };

/** Looks at each machine once, even if it is named several times, and runs each until its end, a wait, or a refusal. */
export const runAll = async (
  named: readonly MachineId[],
  runOptions: SharedRunOptions,
  ports: Ports,
  locationHints: ReadonlyMap<MachineId, LocationHint> = new Map(),
): Promise<readonly Outcome[]> => {
  const machines = [...new Set(named)];
  const statedAt = ports.clock.now().mono;
  const reads = machines.length > 1 ? await readAll(machines, runOptions, ports) : NO_READS;
  const [apart, together] = [pLimit(FIRST_RUNS), pLimit(FIRST_RUNS)];
  const sharing = { ...ports, looks: createSharedLooks(ports, () => together.activeCount) };
  const outcomes = machines.map((machine) => {
    const limit = (ports.cloud.sharedLookScope?.(machine) ?? null) === null ? apart : together;
    return limit(() => run(startOf(machine, reads, { ...runOptions, statedAt }, locationHints, ports), sharing));
  });
  const ended = new AbortController();
  const admitting = { clock: ports.clock, signal: AbortSignal.any([ports.signal, ended.signal]) };
  void admitByPace(apart, AT_A_TIME.apart, admitting);
  void admitByPace(together, AT_A_TIME.together, admitting);
  return Promise.all(outcomes).finally(() => ended.abort());
};

type Reads = ReadonlyMap<MachineId, Observation<MachineFacts>>;

const NO_READS: Reads = new Map();

/**
 * Reads all machines of an invocation with one live look. If the look fails, each run reads its machine again and
 * reports the error.
 */
const readAll = (machines: readonly MachineId[], { deadline }: SharedRunOptions, ports: Ports): Promise<Reads> =>
  endInTime(halfOf(deadline, ports), ports, (signal) => lookAtAll(machines, true, { ...ports, signal })).catch(
    () => NO_READS,
  );

const startOf = (
  machine: MachineId,
  reads: Reads,
  { newRunId, runLasts = Infinity, vouched = null, ...runOptions }: SharedRunOptions & Pick<Start, 'statedAt'>,
  locationHints: ReadonlyMap<MachineId, LocationHint>,
  { cloud, clock }: Ports,
): RunState => {
  const state = startRun({
    ...runOptions,
    ...locationHints.get(machine),
    deadline: Math.min(runOptions.deadline, clock.now().mono + runLasts),
    request: { machine, intent: 'fence', accepted: null, vouched },
    identityRules: cloud,
    runId: newRunId(),
  });
  const read = reads.get(machine);
  return read ? withMachineRead(state, read, momentOf(read)) : state;
};

/**
 * Returns the moment at which the answer of the look arrived. A run treats a shared look like its own: the first look
 * that says off begins the proof.
 */
const momentOf = ({ requestedAt, receivedAt }: Observation<MachineFacts>): Moment => ({
  wall: requestedAt.wall + (receivedAt - requestedAt.mono),
  mono: receivedAt,
});

/**
 * Drives the pure loop: gets the next command, executes it, and reduces the result into the state. It always returns an
 * outcome: an internal fault ends only this run.
 */
export const run = async (start: RunState, ports: Ports): Promise<Outcome> => {
  let state = start;
  try {
    for (;;) {
      const command = nextCommand(state, ports.clock.now());
      if (command.do === 'finish') return command.outcome;
      const result = await executeCommand(command, state, ports);
      // Each later call would fail at once, a pause included, so the run would not end before its deadline.
      if (result.to === 'failed' && ports.signal.aborted)
        return outcomeOf(interrupted(state, result.error), ports.clock.now());
      state = reduce(state, command, result, ports.clock.now());
      ports.observe(command, result, state);
    }
  } catch (caught) {
    // Because the facts may have caused the fault, the outcome is built without them.
    return outcomeOf(
      { ...state, machine: null, cluster: null, ending: failedEnding(asCloudfenceError(caught)) },
      ports.clock.now(),
    );
  }
};

/** Returns the state of a run whose invocation has ended. An ending that was reached before stays. */
const interrupted = (state: RunState, error: CloudfenceError): RunState => ({
  ...state,
  ending: state.ending ?? failedEnding(error),
});

/** How long (ms) a command that began before the run's deadline may last after it. */
const OVERTIME_MS = 1_000;
/** How long after the deadline (ms) all final calls together may last, such as the Events. */
const LAST_CALLS_MS = 2_000;

const timeLeftFor = ({ do: what }: Command, { deadline }: RunState, { mono }: Moment): number =>
  what === 'conclude' || what === 'record-events'
    ? Math.max(0, deadline + LAST_CALLS_MS - mono)
    : Math.max(0, deadline - mono) + OVERTIME_MS;

/**
 * Executes one command. Returns errors as results, too. An unexpected error keeps its stack in its cause. The command
 * ends in time even if a call ignores its signal: an SDK may wait for credentials for ever.
 */
export const executeCommand = async (
  command: Exclude<Command, { do: 'finish' }>,
  state: RunState,
  ports: Ports,
): Promise<CommandResult> => {
  const inFlight = new AbortController();
  const timeUp = ports.clock.timeout(timeLeftFor(command, state, ports.clock.now()));
  const signal = AbortSignal.any([ports.signal, inFlight.signal, timeUp]);
  const own = { ...ports, signal };
  try {
    // Each step ends in time by itself, so that the answers of the others are not lost.
    return await (command.do === 'act'
      ? act(command, own)
      : abortOnSignal(signal, () => carryOut(command, state, own)));
  } catch (error) {
    return { to: 'failed', error: errorOfCall(error, signal) };
  } finally {
    inFlight.abort();
  }
};

const carryOut = async (
  command: Exclude<Command, { do: 'finish' | 'act' }>,
  state: RunState,
  ports: Ports,
): Promise<CommandResult> => {
  const { cloud, signal } = ports;
  switch (command.do) {
    case 'look':
      return runLook(command, state, ports);
    case 'locate':
      return { to: 'locate', found: await searchClusters(command.facts, state, ports) };
    case 'witness':
      return { to: 'witness', value: await cloud.witness(state.request.machine, command.disks, signal) };
    case 'survey-connectivity':
      return survey(command, state, ports);
    case 'reserve':
      return reserve(command, ports);
    case 'conclude':
      await clusterAt(command.location, ports).conclude({ machine: state.request.machine, boot: command.boot }, signal);
      return { to: 'conclude' };
    case 'recheck':
      return recheck(command, ports);
    case 'imagine':
      return { to: 'imagine' };
    case 'sleep':
      return sleepOrPoll(command, state, ports);
    case 'end':
      return { to: 'end', ending: command.ending };
    case 'record-events':
      return record(command, ports);
  }
};

/** Records all Events, even if some of them fail. If any failed, returns the first error. */
const record = async (
  { location, events }: Extract<Command, { do: 'record-events' }>,
  ports: Ports,
): Promise<CommandResult> => {
  const { recordEvent } = clusterAt(location, ports);
  const answers = await Promise.allSettled(events.map(({ about, event }) => recordEvent(about, event, ports.signal)));
  const fault = answers.find((answer) => answer.status === 'rejected');
  if (fault) throw asCloudfenceError(fault.reason);
  return { to: 'record-events' };
};

/** Reserves a place under the cap, and concurrently rechecks the mark that follows. */
const reserve = async (
  { location, reservation: wanted, markToRecheck }: Extract<Command, { do: 'reserve' }>,
  ports: Ports,
): Promise<CommandResult> => {
  const cluster = clusterAt(location, ports);
  const requestedAt = ports.clock.now();
  const [value, read] = await Promise.all([
    cluster.reserve(wanted, ports.signal),
    markToRecheck && cluster.recheck(markToRecheck.node, ports.signal),
  ]);
  const isYoung = ports.clock.now().mono - requestedAt.mono < RECHECK_LASTS_MS;
  return {
    to: 'reserve',
    value,
    recheck: markToRecheck && read && isYoung ? { value: read, requestedAt, step: markToRecheck.step } : null,
  };
};

const survey = async (
  { node }: Extract<Command, { do: 'survey-connectivity' }>,
  state: RunState,
  ports: Ports,
): Promise<CommandResult> => {
  const requestedAt = ports.clock.now();
  return { to: 'survey-connectivity', value: await takeSurvey(node, state, ports), requestedAt };
};

const recheck = async (
  { location, node, step }: Extract<Command, { do: 'recheck' }>,
  ports: Ports,
): Promise<CommandResult> => {
  const requestedAt = ports.clock.now();
  return {
    to: 'recheck',
    value: await clusterAt(location, ports).recheck(node, ports.signal),
    requestedAt,
    step: stepKey(step),
  };
};

/** Takes the steps concurrently. Each step has its own permit and its own answer. */
const act = async (command: Extract<Command, { do: 'act' }>, ports: Ports): Promise<CommandResult> => {
  const { location, expires } = command;
  const sentAt = ports.clock.now();
  const answers = await Promise.all(
    stepsOfCommand(command).map(async ({ step, leaveBy }): Promise<StepAnswer> => {
      const permit = permitUntil(expires, ports.clock, leaveBy);
      const taken = abortOnSignal(ports.signal, () => apply(step, location, permit, ports));
      return taken.catch((error: unknown) => errorOfCall(error, ports.signal));
    }),
  );
  return { to: 'act', answers, sentAt };
};

const apply = async (step: Step, location: ClusterLocation, permit: Permit, ports: Ports): Promise<StepResult> => {
  if (!isCloudStep(step)) return clusterAt(location, ports).apply(step, permit, ports.signal);
  if (step.do === 'detach-disk') await ports.cloud.detach(step.from, step.disk, step.mode, permit, ports.signal);
  else await ports.cloud.powerOff(step.target, permit, ports.signal);
  return 'done';
};

const isCloudStep = (step: Step): step is CloudStep => step.do === 'detach-disk' || step.do === 'power-off';
