import { outcomeOf } from './ending.ts';
import { asCloudfenceError } from '../model/errors.ts';
import { takeSurvey } from './survey.ts';
import type { StepResult } from '../model/cluster.ts';
import type { RunState } from './state.ts';
import { failedEnding, reduce, type CommandResult } from './reduce.ts';
import { searchClusters, runLook } from './look.ts';
import { nextCommand, type Command } from './next-command.ts';
import type { Outcome } from '../model/outcome.ts';
import { permitUntil } from '../model/permit.ts';
import { clusterAt, type Ports } from './ports.ts';
import { stepKey, type CloudStep, type Step } from '../model/steps.ts';

/**
 * Drives the pure loop: asks for the next command, runs it, and reduces the result into the state. It always returns an
 * outcome: an internal fault ends this run and no other.
 */
export const run = async (start: RunState, ports: Ports): Promise<Outcome> => {
  let known = start;
  try {
    for (;;) {
      const command = nextCommand(known, ports.clock.now());
      if (command.do === 'finish') return command.outcome;
      const result = await executeCommand(command, known, ports);
      known = reduce(known, command, result, ports.clock.now());
      ports.observe(command, result, known);
    }
  } catch (caught) {
    // The facts may have caused the fault, so the outcome is made without them.
    return outcomeOf(
      { ...known, machine: null, cluster: null, ending: failedEnding(asCloudfenceError(caught)) },
      ports.clock.now(),
    );
  }
};

/** The time (ms) after the run's deadline for the last calls, such as the Event on the Node. */
const LAST_CALLS_MS = 1_000;

/** Runs one command. Returns errors as results too. An unexpected error keeps its stack as its cause. */
export const executeCommand = async (
  command: Exclude<Command, { do: 'finish' }>,
  known: RunState,
  ports: Ports,
): Promise<CommandResult> => {
  const sentAt = ports.clock.now();
  const inFlight = new AbortController();
  const timeUp = ports.clock.timeout(Math.max(0, known.deadline - sentAt.mono) + LAST_CALLS_MS);
  const signal = AbortSignal.any([ports.signal, inFlight.signal, timeUp]);
  try {
    return await carryOut(command, known, { ...ports, signal });
  } catch (error) {
    return { to: 'failed', error: asCloudfenceError(error), sentAt };
  } finally {
    inFlight.abort();
  }
};

const carryOut = async (
  command: Exclude<Command, { do: 'finish' }>,
  known: RunState,
  ports: Ports,
): Promise<CommandResult> => {
  const { clock, cloud, signal } = ports;
  switch (command.do) {
    case 'look':
      return runLook(command, known, ports);
    case 'locate':
      return { to: 'locate', found: await searchClusters(command.facts, known, ports) };
    case 'witness':
      return { to: 'witness', says: await cloud.witness(known.request.machine, command.disks, signal) };
    case 'survey-connectivity':
      return { to: 'survey-connectivity', says: await takeSurvey(command.node, known, ports) };
    case 'claim':
      return { to: 'claim', says: await clusterAt(command.location, ports).claim(command.claim, signal) };
    case 'conclude':
      await clusterAt(command.location, ports).conclude(known.request.machine, signal);
      return { to: 'conclude' };
    case 'recheck':
      return recheck(command, ports);
    case 'act':
      return act(command, ports);
    case 'imagine':
      return { to: 'imagine' };
    case 'pause':
      await clock.sleep(command.ms, signal);
      return { to: 'pause' };
    case 'end':
      return { to: 'end', ending: command.ending };
    case 'record-event':
      return record(command, ports);
  }
};

const record = async (
  { location, event, outcome }: Extract<Command, { do: 'record-event' }>,
  ports: Ports,
): Promise<CommandResult> => {
  const about = { node: outcome.node ?? '', uid: outcome.nodeUid };
  await clusterAt(location, ports).recordEvent(about, event, ports.signal);
  return { to: 'record-event' };
};

const recheck = async (
  { location, node, step }: Extract<Command, { do: 'recheck' }>,
  ports: Ports,
): Promise<CommandResult> => {
  const askedAt = ports.clock.now();
  return {
    to: 'recheck',
    says: await clusterAt(location, ports).recheck(node, ports.signal),
    askedAt,
    step: stepKey(step),
  };
};

const act = async (command: Extract<Command, { do: 'act' }>, ports: Ports): Promise<CommandResult> => {
  const sentAt = ports.clock.now();
  return { to: 'act', says: await apply(command, ports), sentAt };
};

const apply = async (
  { step, location, expires }: Extract<Command, { do: 'act' }>,
  ports: Ports,
): Promise<StepResult> => {
  const permit = permitUntil(expires, ports.clock);
  if (!isCloudStep(step)) return clusterAt(location, ports).apply(step, permit, ports.signal);
  if (step.do === 'detach-disk') await ports.cloud.detach(step.from, step.disk, step.manner, permit, ports.signal);
  else await ports.cloud.powerOff(step.target, permit, ports.signal);
  return 'done';
};

const isCloudStep = (step: Step): step is CloudStep => step.do === 'detach-disk' || step.do === 'power-off';
