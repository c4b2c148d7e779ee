import { asCloudfenceError, PermissionDenied, Refused, Unavailable } from '../fencing/model/errors.ts';
import type { MachineTarget } from '../fencing/model/machine.ts';
import { listSome, onOneLine } from '../fencing/model/reason.ts';
import { makeCanary } from './canary.ts';
import { type CheckOptions, type DrillFacts, type Refusal, refusalsOf } from './checks.ts';
import { readFacts, renewFacts, targetOf } from './facts.ts';
import { lookAtMachine, startMachine, stopMachine } from './machine.ts';
import { restart, firstMissing, isComplete, newlyReached, newNodeOf, recovery, type Snapshot } from './phases.ts';
import {
  checkOptionsOf,
  type DrillOptions,
  type DrillResult,
  type DrillTools,
  POLL_MS,
  type Progress,
  requestOf,
} from './tools.ts';
import { undo } from './undo.ts';

/**
 * A drill: it makes a canary with a volume, stops the machine, and watches how the installed Cloudfence reacts. It
 * fences nothing itself. In any case it starts the machine again and removes what it made.
 */

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

const sentence = (refusals: readonly Refusal[]): string => listSome(refusals.map(({ says }) => says));

/** Refuses if anything has changed since the person agreed. */
const refuseChanges = (before: DrillFacts, now: DrillFacts, options: CheckOptions): void => {
  const [one, other] = [before.cluster.node, now.cluster.node];
  if (
    one?.uid !== other?.uid ||
    one?.bootID !== other?.bootID ||
    before.machine.incarnation?.id !== now.machine.incarnation?.id
  )
    throw new Refused('the Node or its machine is another one, or has booted since: nothing was stopped');
  const refusals = refusalsOf(now, options);
  if (refusals.length > 0) throw new Refused(`nothing was stopped: ${sentence(refusals)}`);
};

const stop = async (
  options: DrillOptions,
  tools: DrillTools,
  target: MachineTarget,
  progress: Progress,
): Promise<void> => {
  const { clock, signal, tell } = tools;
  const checks = checkOptionsOf(options, tools, options.target.node);
  const last = await readFacts(requestOf(options, progress.volume), tools, signal);
  const confirm = async (): Promise<void> => {
    if (!progress.facts) throw new Refused('nothing was checked');
    refuseChanges(progress.facts, await renewFacts(last, tools, signal), checks);
  };
  const leaves = (): void => {
    progress.stoppedAt = clock.now().wall;
    progress.began = clock.now().mono;
    progress.mayBeOff = true;
  };
  tell(`stops ${target.machine}. If this terminal dies, start it with: ${last.drilled.startCommand}`);
  await stopMachine(target, tools, confirm, leaves, signal);
};

/** Gives null for what did not answer this time. Missing permissions end the drill. */
const orNull = async <T>(read: Promise<T>, signal: AbortSignal): Promise<T | null> => {
  try {
    return await read;
  } catch (error) {
    signal.throwIfAborted();
    const known = asCloudfenceError(error);
    if (known instanceof PermissionDenied || !known.retry) throw known;
    return null;
  }
};

const takeSnapshot = async (
  { target: { node }, canary }: DrillOptions,
  tools: DrillTools,
  machine: MachineTarget,
): Promise<Snapshot> => {
  const { drillCluster, signal } = tools;
  const [facts, seen, view] = await Promise.all([
    orNull(lookAtMachine(machine, tools, signal), signal),
    orNull(drillCluster.node(node, signal), signal),
    orNull(drillCluster.canary(canary, node, signal), signal),
  ]);
  return { machine: facts, node: seen, canary: view };
};

/** Watches until all phases of one part are reached, or the time is up. */
const watch = async (
  part: 'recovery' | 'restart',
  options: DrillOptions,
  tools: DrillTools,
  machine: MachineTarget,
  progress: Progress,
): Promise<void> => {
  const { clock, signal, tell } = tools;
  const phases = part === 'recovery' ? recovery : restart;
  const { before, began } = progress;
  if (!before) return;
  const lasted = (): number => Math.round(clock.now().mono - began);
  while (lasted() < options.patience) {
    const snapshot = await takeSnapshot(options, tools, machine);
    const fresh = newlyReached(phases, progress[part], snapshot, { before, ms: lasted() });
    for (const { ms, says } of fresh) tell(`${seconds(ms).padStart(8)}  ${says}`);
    progress[part] = [...progress[part], ...fresh];
    if (part === 'restart') progress.mayBeOff = snapshot.machine?.power !== 'running';
    if (part === 'recovery') progress.movedTo = newNodeOf(snapshot, before) ?? progress.movedTo;
    if (isComplete(phases, progress[part])) return;
    await clock.sleep(POLL_MS, signal);
  }
};

const start = async (
  { patience }: DrillOptions,
  tools: DrillTools,
  machine: MachineTarget,
  progress: Progress,
): Promise<void> => {
  tools.tell(`starts ${machine.machine}`);
  progress.began = tools.clock.now().mono;
  await startMachine(machine, tools, { lasts: patience, signal: tools.signal });
  progress.mayBeOff = false;
};

/** Stops the machine, watches, and starts it again. Fences from here, if that was asked. */
const incident = async (
  options: DrillOptions,
  tools: DrillTools,
  facts: DrillFacts,
  progress: Progress,
): Promise<void> => {
  const machine = targetOf(facts.machine);
  await stop(options, tools, machine, progress);
  const ending = new AbortController();
  // A fault of the fencing must not end the process while the machine is off.
  const fencing = Promise.allSettled([tools.fenceHere?.(AbortSignal.any([tools.signal, ending.signal]))]);
  try {
    await watch('recovery', options, tools, machine, progress);
    await start(options, tools, machine, progress);
    await watch('restart', options, tools, machine, progress);
  } finally {
    ending.abort(new Unavailable('the drill is over'));
    const [fenced] = await fencing;
    if (fenced.status === 'rejected') tools.tell(`the fencing failed: ${asCloudfenceError(fenced.reason).message}`);
  }
};

type Ending = Pick<DrillResult, 'end' | 'says' | 'refusals'>;

const endingOf = ({ recovery: seen, restart: back, movedTo }: Progress): Ending => {
  const missing = firstMissing(recovery, seen) ?? firstMissing(restart, back);
  if (missing === null)
    return { end: 'recovered', says: `the canary moved to Node ${movedTo ?? ''}, and the Node is back`, refusals: [] };
  return { end: 'not-recovered', says: `the drill did not see this in time: ${missing}`, refusals: [] };
};

const conduct = async (options: DrillOptions, tools: DrillTools, progress: Progress): Promise<Ending> => {
  const facts = await readFacts(requestOf(options, 'none'), tools, tools.signal);
  progress.facts = facts;
  const refusals = refusalsOf(facts, checkOptionsOf(options, tools, options.target.node));
  const { hostname } = facts.scene;
  if (refusals.length > 0 || hostname === null) return { end: 'refused', says: sentence(refusals), refusals };
  if (options.dryRun) return { end: 'checked', says: 'nothing speaks against the drill', refusals: [] };
  if (!(await tools.confirm(facts)))
    return { end: 'declined', says: 'the name was not typed, so nothing was done', refusals: [] };
  await makeCanary(options, tools, hostname, progress);
  await incident(options, tools, facts, progress);
  return endingOf(progress);
};

const ended = async (options: DrillOptions, tools: DrillTools, progress: Progress): Promise<Ending> => {
  try {
    return await conduct(options, tools, progress);
  } catch (error) {
    if (tools.signal.aborted)
      return {
        end: 'interrupted',
        says: 'it was interrupted. If the Node is fenced, Cloudfence releases it by itself: `cloudfence status`',
        refusals: [],
      };
    return { end: 'failed', says: asCloudfenceError(error).message, refusals: [] };
  }
};

/** Conducts one drill. Always undoes what it did, and says what it could not undo. */
export const conductDrill = async (options: DrillOptions, given: DrillTools): Promise<DrillResult> => {
  const tools = { ...given, tell: (says: string) => given.tell(onOneLine(says)) };
  const progress: Progress = {
    facts: null,
    made: false,
    volume: null,
    before: null,
    stoppedAt: null,
    began: 0,
    mayBeOff: false,
    recovery: [],
    restart: [],
    movedTo: null,
  };
  const ending = await ended(options, tools, progress);
  const left = await undo(options, tools, progress);
  const { facts, stoppedAt, recovery: seen, restart: back, movedTo } = progress;
  return { ...ending, facts, stoppedAt, recovery: seen, restart: back, movedTo, left };
};
