import { hasOwnLabelOrTaint } from '../fencing/model/cluster-facts.ts';
import { asCloudfenceError, Unavailable } from '../fencing/model/errors.ts';
import { CLEANUP_MS, removeCanary, retryUndo, whyNotUndone } from './canary.ts';
import type { DrillFacts, Refusal } from './checks.ts';
import { targetOf, type DrillOptions, type DrillTools, POLL_MS, type Progress } from './tools.ts';
import { cloudSays, lookAtMachine, startMachine } from './machine.ts';

/** Undoes what a drill did, whatever has happened, and reports what is left. */

const startAgain = async (tools: DrillTools, { machine, drilledMachine }: DrillFacts): Promise<readonly Refusal[]> => {
  const target = targetOf(machine);
  tools.tell(`starts ${target.machine}`);
  try {
    await startMachine(target, tools, { lasts: CLEANUP_MS, signal: tools.giveUp });
    return [];
  } catch (error) {
    return [
      {
        says: `${target.machine} may be off: ${whyNotUndone(error, tools.giveUp)}`,
        remedy: drilledMachine.startCommand,
      },
    ];
  }
};

/** Checks whether a machine that ran after its start is off again. */
const offAfterAll = async (tools: DrillTools, { machine, drilledMachine }: DrillFacts): Promise<readonly Refusal[]> => {
  const target = targetOf(machine);
  const look = (signal: AbortSignal) => lookAtMachine(target, tools, signal);
  const said = await retryUndo(look, () => true, tools).then(
    ({ power }) => (power === 'running' ? null : cloudSays[power]),
    (error: unknown) => whyNotUndone(error, tools.giveUp),
  );
  return said === null ? [] : [{ says: `${target.machine} may be off: ${said}`, remedy: drilledMachine.startCommand }];
};

/** The time limit for the release of the Node after its machine runs again (ms). */
const RELEASE_MS = 10 * 60_000;

/** How many looks in a row must show no fence. A write that was aborted by an interruption may still arrive. */
const FREE_FOR = 3;

const isFree = async (node: string, { drillCluster }: DrillTools, signal: AbortSignal): Promise<boolean> => {
  const seen = await drillCluster.node(node, signal);
  return seen === null || !hasOwnLabelOrTaint(seen);
};

/** @throws Unavailable at the deadline, or the reason of the signal */
const untilFree = async (node: string, tools: DrillTools, signal: AbortSignal): Promise<void> => {
  const { clock, tell } = tools;
  const ends = clock.now().mono + RELEASE_MS;
  let why = `Node ${node} is still fenced`;
  let hasTold = false;
  for (let free = 0; free < FREE_FOR;) {
    if (clock.now().mono >= ends) throw new Unavailable(why);
    try {
      free = (await isFree(node, tools, signal)) ? free + 1 : 0;
      why = `Node ${node} is still fenced`;
    } catch (error) {
      signal.throwIfAborted();
      free = 0;
      why = `it is not known whether Node ${node} is still fenced: ${asCloudfenceError(error).message}`;
    }
    if (free === 0 && !hasTold) tell(`waits until Node ${node} bears no fence`);
    hasTold ||= free === 0;
    await clock.sleep(POLL_MS, signal);
  }
};

/** Fences and releases with this command, if no functions are installed, until the Node has no fence. */
const release = async (node: string, tools: DrillTools): Promise<void> => {
  const ending = new AbortController();
  const signal = AbortSignal.any([tools.clock.timeout(RELEASE_MS), tools.giveUp]);
  const reacting = Promise.allSettled([tools.fenceHere?.(AbortSignal.any([signal, ending.signal]))]);
  try {
    await untilFree(node, tools, signal);
  } finally {
    ending.abort(new Unavailable('the drill is over'));
    await reacting;
  }
};

/** While the machine is off, a fence is correct, so only a single look checks whether there is one. */
const lookOnce = async (node: string, tools: DrillTools): Promise<void> => {
  const look = (signal: AbortSignal) => isFree(node, tools, signal);
  if (!(await retryUndo(look, () => true, tools))) throw new Unavailable(`Node ${node} is fenced`);
};

/** @returns that the Node is or may be fenced, with the command that ends the fence */
const takeFenceBack = async (node: string, tools: DrillTools, runs: boolean): Promise<readonly Refusal[]> => {
  try {
    await (runs ? release(node, tools) : lookOnce(node, tools));
    return [];
  } catch (error) {
    const why = whyNotUndone(error, tools.giveUp);
    const says = tools.giveUp.aborted ? `it is not known whether Node ${node} is still fenced: ${why}` : why;
    return [{ says, remedy: `\`cloudfence release ${node}\` ends a fence once the machine runs` }];
  }
};

/** Ends the reservation, so that another drill may begin. */
const freeNode = async ({ target: { node } }: DrillOptions, tools: DrillTools): Promise<readonly Refusal[]> => {
  const { drill, drillCluster, giveUp } = tools;
  const free = (signal: AbortSignal) => drillCluster.free({ name: node, drill }, signal);
  try {
    await retryUndo(free, () => true, tools);
    return [];
  } catch (error) {
    const says = `Node ${node} is still reserved for this drill: ${whyNotUndone(error, giveUp)}`;
    return [{ says, remedy: drillCluster.freeCommand(node) }];
  }
};

const undoStop = async (
  { target: { node } }: DrillOptions,
  tools: DrillTools,
  facts: DrillFacts,
  mayBeOff: boolean,
): Promise<{ readonly off: readonly Refusal[]; readonly fenced: readonly Refusal[] }> => {
  const off = mayBeOff ? await startAgain(tools, facts) : [];
  return { off, fenced: await takeFenceBack(node, tools, off.length === 0) };
};

/** Undoes everything, and returns what is left, with the commands for it. */
export const undo = async (
  options: DrillOptions,
  tools: DrillTools,
  progress: Progress,
): Promise<readonly Refusal[]> => {
  const { facts, stoppedAt, mayBeOff, made, reserved } = progress;
  const stopped = facts !== null && stoppedAt !== null;
  const { off, fenced } = stopped ? await undoStop(options, tools, facts, mayBeOff) : { off: [], fenced: [] };
  const canary = made ? await removeCanary(options, tools, progress) : [];
  const offNow = stopped && off.length === 0 ? await offAfterAll(tools, facts) : off;
  return [...offNow, ...fenced, ...canary, ...(reserved ? await freeNode(options, tools) : [])];
};
