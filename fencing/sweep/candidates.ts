import { outcomeOf, failedEnding } from '../loop/ending.ts';
import { ambiguousNodesReason } from '../loop/locate.ts';
import { endInTime, halfOf, type Ports, STALE_LEASE_MS } from '../loop/ports.ts';
import type { LocationHint, SharedRunOptions } from '../loop/run.ts';
import type { RunState } from '../loop/state.ts';
import type { Cluster, SuspectNode } from '../model/cluster.ts';
import { CloudfenceError, asCloudfenceError, Unexpected } from '../model/errors.ts';
import { type MachineId, machineOfProviderID } from '../model/machine.ts';
import type { Outcome } from '../model/outcome.ts';
import { because, type Reason } from '../model/reason.ts';
import { hasBootedSince } from '../rules/lift.ts';
import { machinesOfGoneNode } from './gone-nodes.ts';
import { simulateLift, liftBeforeRun, UNKNOWN_MACHINE, stateOfSuspect } from './lift.ts';

/** Groups the suspects of one cluster by machine, and says where each run begins. */

/** A suspect, its cluster, and the machines to which it may belong. */
export interface SweepCandidate {
  readonly cluster: string;
  readonly suspect: SuspectNode;
  readonly machines: readonly MachineId[];
  /** Why no machine is known although there should be one, as a text for people. Null otherwise. */
  readonly doubt: string | null;
  /** The error that prevented the identification, or null. */
  readonly fault: CloudfenceError | null;
  /** The result of removing our taint before a machine was known. Null if there was nothing to remove. */
  readonly lift: RunState | null;
}

/** A candidate without the result of the taint's removal. */
type FoundCandidate = Omit<SweepCandidate, 'lift'>;

export interface CandidateScan {
  readonly candidates: readonly SweepCandidate[];
  readonly unreachable: readonly { readonly cluster: string; readonly error: CloudfenceError }[];
}

/**
 * Returns the machines to which a suspect may belong. A Node with a providerID belongs only to that machine. That
 * machine's run reports the other names on the Node. These names do not keep other machines from their own Nodes.
 */
const machinesOf = ({ identitySources }: SuspectNode, { cloud }: Ports): readonly MachineId[] => {
  const own = machineOfProviderID(identitySources, cloud.machineOf);
  return own === null
    ? [...new Set(identitySources.map(cloud.machineOf).filter((machine) => machine !== null))]
    : [own];
};

/**
 * Returns the reason if nothing names the Node's machine. The machine may be running although the Node has our taint,
 * so a person must check it.
 */
const whyNameless = ({ node, marked }: SuspectNode, { cloud }: Ports): string => {
  const nameless = `nothing on Node ${node} names a machine of ${cloud.name}; run cloudfence doctor for the remedy`;
  return marked && !hasBootedSince(marked)
    ? `${nameless}. Cloudfence does not know whether the machine is off, but its out-of-service taint is set ` +
        `there. If the machine runs, remove the taint: \`${marked.untaint}\``
    : nameless;
};

/**
 * Returns the candidate for a suspect. If the Node itself does not name its machine, all other objects that may name it
 * are read. If the Node is gone, the cloud is asked about its disks.
 */
const candidateOf = async (
  cluster: Cluster,
  suspect: SuspectNode,
  deadline: number,
  ports: Ports,
): Promise<FoundCandidate> => {
  const candidate = { cluster: cluster.name, suspect, machines: machinesOf(suspect, ports), doubt: null, fault: null };
  if (candidate.machines.length > 0) return candidate;
  if (suspect.because === 'node-missing')
    return { ...candidate, ...(await machinesOfGoneNode(cluster, suspect, ports, halfOf(deadline, ports) / 2)) };
  const identified = {
    ...suspect,
    identitySources: (await cluster.identify(suspect.node, ports.signal)) ?? suspect.identitySources,
  };
  const machines = machinesOf(identified, ports);
  return {
    ...candidate,
    suspect: identified,
    machines,
    doubt: machines.length > 0 ? null : whyNameless(suspect, ports),
  };
};

/**
 * Returns the candidate for a suspect. An internal fault with one suspect must not affect the others, so the candidate
 * contains the fault.
 *
 * @throws CloudfenceError if the cluster or the cloud does not answer, because then nothing is known about any suspect
 */
const safeCandidateOf = async (
  cluster: Cluster,
  suspect: SuspectNode,
  deadline: number,
  ports: Ports,
): Promise<FoundCandidate> => {
  try {
    return await candidateOf(cluster, suspect, deadline, ports);
  } catch (error) {
    if (error instanceof CloudfenceError && !(error instanceof Unexpected)) throw error;
    return { cluster: cluster.name, suspect, machines: [], doubt: null, fault: asCloudfenceError(error) };
  }
};

const searchCandidates = async (
  cluster: Cluster,
  runOptions: SharedRunOptions,
  ports: Ports,
): Promise<readonly SweepCandidate[]> => {
  const suspects = await cluster.suspects(STALE_LEASE_MS, ports.signal);
  const lifts = await Promise.all(suspects.map((suspect) => liftBeforeRun(cluster.name, suspect, runOptions, ports)));
  const found = await Promise.all(
    suspects.map((suspect) => safeCandidateOf(cluster, suspect, runOptions.deadline, ports)),
  );
  return found.map((candidate, at) => ({ ...candidate, lift: lifts[at] ?? null }));
};

/**
 * Finds the candidates in one cluster. First removes our taint from Nodes that have booted since, because that must not
 * wait for any other read. Reports a cluster that does not answer in time, because the state of its Nodes is unknown.
 * The other clusters do not wait for it any longer.
 */
export const candidatesIn = async (
  cluster: Cluster,
  runOptions: SharedRunOptions,
  ports: Ports,
): Promise<CandidateScan> => {
  try {
    const candidates = await endInTime(halfOf(runOptions.deadline, ports), ports, (signal) =>
      searchCandidates(cluster, runOptions, { ...ports, signal }),
    );
    return { candidates, unreachable: [] };
  } catch (error) {
    return { candidates: [], unreachable: [{ cluster: cluster.name, error: asCloudfenceError(error) }] };
  }
};

export const groupByMachine = (
  candidates: readonly SweepCandidate[],
): ReadonlyMap<MachineId, readonly SweepCandidate[]> => {
  const named = new Map<MachineId, SweepCandidate[]>();
  for (const candidate of candidates) {
    for (const machine of candidate.machines) named.set(machine, [...(named.get(machine) ?? []), candidate]);
  }
  return named;
};

const locationOf = ({ cluster, suspect }: SweepCandidate) => ({ cluster, node: suspect.node });

const existingNodes = (candidates: readonly SweepCandidate[]): readonly SweepCandidate[] =>
  candidates.filter(({ suspect }) => suspect.because !== 'node-missing');

/**
 * Returns where the machine was seen, for its run. If it was seen in only one place, the run looks there first. If
 * several Nodes name it, the run looks at the one with our taint, which may have to be removed.
 */
export const locationHint = (machine: MachineId, candidates: readonly SweepCandidate[]): LocationHint => {
  const steps = candidates.flatMap(({ lift }) => lift?.steps ?? []);
  const unlocated = { location: null, ambiguity: null, attachments: null, steps };
  const existing = existingNodes(candidates);
  const bearer = existing.find(({ suspect }) => suspect.marked);
  if (existing.length > 1 && bearer)
    return {
      ...unlocated,
      location: locationOf(bearer),
      ambiguity: ambiguousNodesReason(machine, existing.map(locationOf)),
    };
  const [only, ...others] = candidates;
  if (!only || others.length > 0) return unlocated;
  const { cluster, suspect } = only;
  return suspect.because === 'node-missing'
    ? { ...unlocated, location: { cluster, node: null }, attachments: suspect.attachments }
    : { ...unlocated, location: locationOf(only) };
};

const refused = (state: RunState, reason: Reason): RunState => ({
  ...state,
  ending: { outcome: 'refused', reason, lookAgainIn: null, retry: false },
});

/** Returns the state of a candidate without a run, or null if there is nothing to report. */
const unnamed = (
  { cluster, suspect, doubt, fault, lift }: SweepCandidate,
  runOptions: SharedRunOptions,
  ports: Ports,
): RunState | null => {
  const state =
    lift ??
    simulateLift(stateOfSuspect(cluster, suspect, UNKNOWN_MACHINE, runOptions, ports), suspect, ports.clock.now());
  if (state.ending || state.pending) return state;
  if (fault) return { ...state, ending: failedEnding(fault) };
  return doubt === null ? null : refused(state, because('identity-unproven', doubt));
};

/**
 * Returns the outcomes for silent Nodes without a known machine. Such Nodes cannot be proven off, and people should be
 * told.
 */
export const outcomesOfUnnamed = (
  candidates: readonly SweepCandidate[],
  runOptions: SharedRunOptions,
  ports: Ports,
): readonly Outcome[] =>
  candidates
    .filter(({ machines }) => machines.length === 0)
    .flatMap((candidate) => unnamed(candidate, runOptions, ports) ?? [])
    .map((state) => outcomeOf(state, ports.clock.now()));

/**
 * Returns the refusal if two existing Nodes name one machine, or null. Cloudfence acts on neither of them. If one of
 * them has our taint, a run looks at it first.
 */
export const refuseAmbiguous = (
  machine: MachineId,
  candidates: readonly SweepCandidate[],
  runOptions: SharedRunOptions,
  ports: Ports,
): Outcome | null => {
  const existing = existingNodes(candidates);
  const [first, second] = existing;
  if (!first || !second || existing.some(({ suspect }) => suspect.marked)) return null;
  const state = stateOfSuspect(first.cluster, first.suspect, machine, runOptions, ports);
  return outcomeOf(refused(state, ambiguousNodesReason(machine, existing.map(locationOf))), ports.clock.now());
};
