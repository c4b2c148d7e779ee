import { asCloudfenceError, Refused, Unavailable } from '../fencing/model/errors.ts';
import type { NodeFacts } from '../fencing/model/cluster-facts.ts';
import type { MachineTarget } from '../fencing/model/machine.ts';
import { listSome, onOneLine } from '../fencing/model/reason.ts';
import { makeCanary } from './canary.ts';
import { type CheckOptions, type DrillFacts, type Refusal, refusalsOf } from './checks.ts';
import {
  readFacts,
  renewFacts,
  targetOf,
  checkOptionsOf,
  type DrillOptions,
  type DrillResult,
  type DrillTools,
  isWorthAnotherTry,
  type RecordProgress,
  POLL_MS,
  type Progress,
  factRequestFor,
  writeNoted,
} from './tools.ts';
import { lookAtMachine, startMachine, stopMachine } from './machine.ts';
import {
  type Before,
  firstMissing,
  isComplete,
  newlyReached,
  newNodeOf,
  type ReachedPhase,
  recovery,
  restart,
  type Snapshot,
} from './phases.ts';
import type { CanaryView } from './ports.ts';
import { undo } from './undo.ts';

/**
 * A drill: it creates a canary with a volume, stops the machine, and watches how the installed Cloudfence reacts. The
 * drill itself does not fence. It always starts the machine again and removes what it created.
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

/** The state when the machine is stopped. */
interface Scenario {
  readonly facts: DrillFacts;
  readonly machine: MachineTarget;
  readonly before: Before;
  readonly volume: CanaryView['volume'];
}

/** Returns when the request for the stop was sent (monotonic ms). */
const stop = async (
  options: DrillOptions,
  tools: DrillTools,
  { facts, machine, volume }: Scenario,
  note: RecordProgress,
): Promise<number> => {
  const { clock, drill, signal, tell } = tools;
  const checks = checkOptionsOf(options, tools, drill);
  const last = await readFacts(factRequestFor(options, { drill, volume }), tools, signal);
  const confirm = async (): Promise<void> => refuseChanges(facts, await renewFacts(last, tools, signal), checks);
  const leaves = (): number => {
    const { wall, mono } = clock.now();
    note({ stoppedAt: wall, mayBeOff: true });
    return mono;
  };
  tell(`stops ${machine.machine}. If this terminal dies, start it with: ${last.drilledMachine.startCommand}`);
  return stopMachine(machine, tools, confirm, leaves, signal);
};

/** Returns null if a read was not answered this time. Missing permissions end the drill. */
const orNull = async <T>(read: Promise<T>, signal: AbortSignal): Promise<T | null> => {
  try {
    return await read;
  } catch (error) {
    signal.throwIfAborted();
    if (!isWorthAnotherTry(error)) throw error;
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

/** One watched part of a drill: the expected phases, and the time of its beginning (monotonic ms). */
interface Part {
  readonly name: 'recovery' | 'restart';
  readonly began: number;
}

interface Watched {
  readonly reached: readonly ReachedPhase[];
  /** The Node on which the canary runs after its move, or null. */
  readonly movedTo: string | null;
}

/** Watches until all phases of a part are reached, or until the deadline. */
const watch = async (
  part: Part,
  options: DrillOptions,
  tools: DrillTools,
  { before, machine }: Scenario,
  note: RecordProgress,
): Promise<Watched> => {
  const { clock, signal, tell } = tools;
  const phases = part.name === 'recovery' ? recovery : restart;
  const lasted = (): number => Math.round(clock.now().mono - part.began);
  let [reached, movedTo]: [readonly ReachedPhase[], string | null] = [[], null];
  while (lasted() < options.timeout) {
    const snapshot = await takeSnapshot(options, tools, machine);
    const fresh = newlyReached(phases, reached, snapshot, { before, ms: lasted() });
    for (const { ms, says } of fresh) tell(`${seconds(ms).padStart(8)}  ${says}`);
    reached = reached.concat(fresh);
    movedTo = newNodeOf(snapshot, before) ?? movedTo;
    const isBack = snapshot.machine?.power === 'running';
    note({ [part.name]: reached, ...(part.name === 'recovery' ? { movedTo } : { mayBeOff: !isBack }) });
    if (isComplete(phases, reached)) break;
    await clock.sleep(POLL_MS, signal);
  }
  return { reached, movedTo };
};

/** Returns when the start was requested (monotonic ms). */
const start = async (
  { timeout }: DrillOptions,
  tools: DrillTools,
  machine: MachineTarget,
  note: RecordProgress,
): Promise<number> => {
  tools.tell(`starts ${machine.machine}`);
  const began = tools.clock.now().mono;
  await startMachine(machine, tools, { lasts: timeout, signal: tools.signal });
  note({ mayBeOff: false });
  return began;
};

type Ending = Pick<DrillResult, 'end' | 'says' | 'refusals'>;

const endingOf = (moved: readonly ReachedPhase[], back: readonly ReachedPhase[], movedTo: string | null): Ending => {
  const missing = firstMissing(recovery, moved) ?? firstMissing(restart, back);
  if (missing === null)
    return { end: 'recovered', says: `the canary moved to Node ${movedTo ?? ''}, and the Node is back`, refusals: [] };
  return { end: 'not-recovered', says: `the drill did not see this in time: ${missing}`, refusals: [] };
};

/** Stops the machine, watches, and starts it again. Fences with this command, if that was requested. */
const incident = async (
  options: DrillOptions,
  tools: DrillTools,
  scenario: Scenario,
  note: RecordProgress,
): Promise<Ending> => {
  const stopped = await stop(options, tools, scenario, note);
  const ending = new AbortController();
  // An error while fencing must not end the process while the machine is off.
  const fencing = Promise.allSettled([tools.fenceHere?.(AbortSignal.any([tools.signal, ending.signal]))]);
  try {
    const { reached, movedTo } = await watch({ name: 'recovery', began: stopped }, options, tools, scenario, note);
    const started = await start(options, tools, scenario.machine, note);
    const back = await watch({ name: 'restart', began: started }, options, tools, scenario, note);
    return endingOf(reached, back.reached, movedTo);
  } finally {
    ending.abort(new Unavailable('the drill is over'));
    const [fenced] = await fencing;
    if (fenced.status === 'rejected') tools.tell(`the fencing failed: ${asCloudfenceError(fenced.reason).message}`);
  }
};

const refused = (refusals: readonly Refusal[]): Ending => ({ end: 'refused', says: sentence(refusals), refusals });

/** Reserves the Node, so that no other drill stops the same machine. Returns why this is not possible, or null. */
const reserve = async (
  node: NodeFacts,
  { tools, note }: { readonly tools: DrillTools; readonly note: RecordProgress },
): Promise<Refusal | null> => {
  const { drill, drillCluster } = tools;
  const wanted = { name: node.name, uid: node.uid, drill };
  try {
    await writeNoted('reserved', (signal) => drillCluster.reserve(wanted, signal), tools, note);
    return null;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { says: error.message, remedy: 'begin again when the other drill is over' };
  }
};

/** Takes all steps that must be undone later: reserves the Node, creates the canary, and stops the machine. */
const perform = async (
  options: DrillOptions,
  tools: DrillTools,
  facts: DrillFacts,
  note: RecordProgress,
): Promise<Ending> => {
  const { hostname } = facts.drilledNode;
  const { node } = facts.cluster;
  if (!node || hostname === null) throw new Refused(`Node ${facts.nodeName} is gone, or has lost its labels`);
  const taken = await reserve(node, { tools, note });
  if (taken) return refused([taken]);
  tools.signal.throwIfAborted();
  const { pod, volume } = await makeCanary(options, tools, hostname, note);
  const before = { node: node.name, pod, bootID: node.bootID };
  return incident(options, tools, { facts, machine: targetOf(facts.machine), before, volume }, note);
};

const conduct = async (options: DrillOptions, tools: DrillTools, note: RecordProgress): Promise<Ending> => {
  const facts = await readFacts(factRequestFor(options, null), tools, tools.signal);
  note({ facts });
  const refusals = refusalsOf(facts, checkOptionsOf(options, tools, null));
  if (refusals.length > 0) return refused(refusals);
  if (options.dryRun) return { end: 'checked', says: 'nothing speaks against the drill', refusals: [] };
  if (!(await tools.confirm(facts)))
    return { end: 'declined', says: 'the name was not typed, so nothing was done', refusals: [] };
  return perform(options, tools, facts, note);
};

const ended = async (options: DrillOptions, tools: DrillTools, note: RecordProgress): Promise<Ending> => {
  try {
    return await conduct(options, tools, note);
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

const NOTHING: Progress = {
  facts: null,
  reserved: false,
  made: false,
  volume: null,
  stoppedAt: null,
  mayBeOff: false,
  recovery: [],
  restart: [],
  movedTo: null,
};

/** Conducts one drill. It always undoes what it did, and reports what it could not undo. */
export const conductDrill = async (options: DrillOptions, given: DrillTools): Promise<DrillResult> => {
  const tools = { ...given, tell: (says: string) => given.tell(onOneLine(says)) };
  let progress = NOTHING;
  const ending = await ended(options, tools, (more) => (progress = { ...progress, ...more }));
  const left = await undo(options, tools, progress);
  const { facts, stoppedAt, recovery: moved, restart: back, movedTo } = progress;
  return { ...ending, facts, stoppedAt, recovery: moved, restart: back, movedTo, left };
};
