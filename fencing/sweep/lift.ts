import { applySimulatedStep } from '../loop/apply-step.ts';
import { actOn } from '../loop/command.ts';
import type { Ports } from '../loop/ports.ts';
import { reduce } from '../loop/reduce.ts';
import { executeCommand, type SharedRunOptions } from '../loop/run.ts';
import { type RunState, startRun } from '../loop/state.ts';
import type { SuspectNode } from '../model/cluster.ts';
import type { MachineId } from '../model/machine.ts';
import { PROOF_LASTS_MS } from '../model/permit.ts';
import { liftOutlivedTaint } from '../rules/lift.ts';
import type { Moment } from '../rules/view.ts';

/** An ID that no machine has. It stands for the unknown machine of a Node. */
export const UNKNOWN_MACHINE: MachineId = '';

/** Returns the initial state of a run about a suspect. */
export const stateOfSuspect = (
  cluster: string,
  { node }: SuspectNode,
  machine: MachineId,
  { newRunId, ...runOptions }: SharedRunOptions,
  { cloud }: Ports,
): RunState =>
  startRun({
    ...runOptions,
    location: { cluster, node },
    request: { machine, intent: 'fence', accepted: null, vouched: null },
    identityRules: cloud,
    runId: newRunId(),
  });

/**
 * Removes our out-of-service taint from a Node that has booted since the taint was set. It needs neither the machine
 * nor its cloud, because no run starts for a Node on which nothing names the machine any more. Returns the result, or
 * null if there is nothing to remove. A dry run removes nothing.
 */
export const liftBeforeRun = async (
  cluster: string,
  suspect: SuspectNode,
  runOptions: SharedRunOptions,
  ports: Ports,
): Promise<RunState | null> => {
  const now = ports.clock.now();
  const lift = suspect.marked && liftOutlivedTaint(suspect.marked, now);
  if (!lift || runOptions.policy.dryRun) return null;
  const state = stateOfSuspect(cluster, suspect, UNKNOWN_MACHINE, runOptions, ports);
  const location = { cluster, node: suspect.node };
  const command = actOn(location, lift, now.mono + PROOF_LASTS_MS);
  const result = await executeCommand(command, state, ports);
  const after = reduce(state, command, result, ports.clock.now());
  ports.observe(command, result, after);
  return after;
};

/** In a dry run, returns the state after the removal if there is something to remove. */
export const simulateLift = (state: RunState, { marked }: SuspectNode, now: Moment): RunState => {
  const lift = state.policy.dryRun && marked ? liftOutlivedTaint(marked, now) : null;
  return lift ? applySimulatedStep(state, lift, now) : state;
};
