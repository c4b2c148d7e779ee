import { outcomeOf, failedEnding } from '../loop/ending.ts';
import { ambiguousNodesReason } from '../loop/locate.ts';
import { type Ports, STALE_LEASE_MS } from '../loop/ports.ts';
import type { LocationHint, SharedRunOptions } from '../loop/run.ts';
import type { RunState } from '../loop/state.ts';
import type { VolumeFacts } from '../model/cluster-facts.ts';
import type { Cluster, SuspectNode } from '../model/cluster.ts';
import { CloudfenceError, asCloudfenceError } from '../model/errors.ts';
import { type MachineId, machineOfProviderID } from '../model/machine.ts';
import type { Outcome } from '../model/outcome.ts';
import { because, type Reason } from '../model/reason.ts';
import { hasBootedSince } from '../rules/lift.ts';
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
const candidateOf = async (cluster: Cluster, suspect: SuspectNode, ports: Ports): Promise<FoundCandidate> => {
  const candidate = { cluster: cluster.name, suspect, machines: machinesOf(suspect, ports), doubt: null, fault: null };
  if (candidate.machines.length > 0) return candidate;
  if (suspect.because === 'node-missing')
    return { ...candidate, ...(await machinesOfGoneNode(cluster, suspect, ports)) };
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
const safeCandidateOf = async (cluster: Cluster, suspect: SuspectNode, ports: Ports): Promise<FoundCandidate> => {
  try {
    return await candidateOf(cluster, suspect, ports);
  } catch (error) {
    if (error instanceof CloudfenceError) throw error;
    return { cluster: cluster.name, suspect, machines: [], doubt: null, fault: asCloudfenceError(error) };
  }
};

/**
 * Finds the candidates in one cluster. First removes our taint from Nodes that have booted since, because that must not
 * wait for any other read. Reports a cluster that does not answer, because the state of its Nodes is unknown.
 */
export const candidatesIn = async (
  cluster: Cluster,
  occasion: SharedRunOptions,
  ports: Ports,
): Promise<CandidateScan> => {
  try {
    const suspects = await cluster.suspects(STALE_LEASE_MS, ports.signal);
    const lifts = await Promise.all(suspects.map((suspect) => liftBeforeRun(cluster.name, suspect, occasion, ports)));
    const found = await Promise.all(suspects.map((suspect) => safeCandidateOf(cluster, suspect, ports)));
    return { candidates: found.map((candidate, at) => ({ ...candidate, lift: lifts[at] ?? null })), unreachable: [] };
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
  occasion: SharedRunOptions,
  ports: Ports,
): RunState | null => {
  const state =
    lift ??
    simulateLift(stateOfSuspect(cluster, suspect, UNKNOWN_MACHINE, occasion, ports), suspect, ports.clock.now());
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
  occasion: SharedRunOptions,
  ports: Ports,
): readonly Outcome[] =>
  candidates
    .filter(({ machines }) => machines.length === 0)
    .flatMap((candidate) => unnamed(candidate, occasion, ports) ?? [])
    .map((state) => outcomeOf(state, ports.clock.now()));

/**
 * Returns the refusal if two existing Nodes name one machine, or null. Cloudfence acts on neither of them. If one of
 * them has our taint, a run looks at it first.
 */
export const refuseAmbiguous = (
  machine: MachineId,
  candidates: readonly SweepCandidate[],
  occasion: SharedRunOptions,
  ports: Ports,
): Outcome | null => {
  const existing = existingNodes(candidates);
  const [first, second] = existing;
  if (!first || !second || existing.some(({ suspect }) => suspect.marked)) return null;
  const state = stateOfSuspect(first.cluster, first.suspect, machine, occasion, ports);
  return outcomeOf(refused(state, ambiguousNodesReason(machine, existing.map(locationOf))), ports.clock.now());
};

/** The machines to which the attachments of a deleted Node may belong, if the attachments name none. */
interface Below {
  readonly machines: readonly MachineId[];
  /**
   * Why the machine is not known, as a text for people. Null if it is known, or if no disk of this cloud is involved.
   */
  readonly doubt: string | null;
}

const MOST_NAMED = 5;

const knownMachine = (machine: MachineId): Below => ({ machines: [machine], doubt: null });

const unknownMachine = ({ node, attachments }: SuspectNode, why: string): Below => ({
  machines: [],
  doubt:
    `Node ${node} no longer exists, its attachments (${attachments.slice(0, MOST_NAMED).join(', ')}) name no ` +
    `machine, and ${why}`,
});

/** The result if neither a disk nor Kubernetes shows that anything was ever attached. */
const NOTHING_HELD: Below = { machines: [], doubt: null };

/**
 * Returns the volumes of this cloud that are still attached to the Node. Returns none if another machine uses the
 * Node's name now.
 */
const volumesLeft = async (
  cluster: Cluster,
  { node, attachments }: SuspectNode,
  { cloud, signal }: Ports,
): Promise<readonly VolumeFacts[]> => {
  const query = { machine: UNKNOWN_MACHINE, nodeNames: [], machineOf: cloud.machineOf };
  const facts = await cluster.look(
    { query, node: null, remembered: null, successorsOf: [], attachments, named: [node] },
    signal,
  );
  return facts.nameTaken ? [] : facts.volumes.filter((volume) => cloud.diskOf(volume) !== null);
};

/**
 * Returns the likeliest machine for the Node's name. No machine holds the disks, so only the ids that the cloud would
 * give to a Node of that name are left. Prefers a machine that the cloud knows to one that it does not know any more.
 */
const guessed = async (
  suspect: SuspectNode,
  volumes: readonly VolumeFacts[],
  { cloud, signal }: Ports,
): Promise<Below> => {
  const guesses = new Set(volumes.flatMap((volume) => cloud.machinesNamed?.(suspect.node, volume) ?? []));
  const facts = guesses.size === 0 ? [] : await cloud.look([...guesses], { disks: false }, signal);
  const fitting = facts.filter(({ nodeNames }) => nodeNames.includes(suspect.node));
  const [likeliest] = [...fitting.filter(({ power }) => power !== 'missing'), ...fitting];
  return likeliest
    ? knownMachine(likeliest.machine)
    : unknownMachine(suspect, 'Cloudfence finds no machine with that name');
};

const wasAttached = (volumes: readonly VolumeFacts[]): boolean =>
  volumes.some(({ attachment }) => attachment?.attached);

const byTheirDisks = async (suspect: SuspectNode, volumes: readonly VolumeFacts[], ports: Ports): Promise<Below> => {
  if (!ports.cloud.holders)
    return wasAttached(volumes)
      ? unknownMachine(suspect, `Cloudfence cannot ask ${ports.cloud.name} for a machine by its disks`)
      : NOTHING_HELD;
  const diskHolders = await ports.cloud.holders(volumes, ports.signal);
  const [holder, ...others] = new Set(diskHolders.flatMap(({ by }) => by));
  if (holder === undefined) return wasAttached(volumes) ? guessed(suspect, volumes, ports) : NOTHING_HELD;
  return others.length === 0
    ? knownMachine(holder)
    : unknownMachine(suspect, `their disks are attached to more than one machine: ${[holder, ...others].join(', ')}`);
};

/**
 * Returns the machine of a deleted Node, found through the disks that were attached to it. It is the machine that holds
 * the disks. If the disks are free, it is the machine that the disks' location and the Node's name suggest. Not every
 * cloud can find the holder of a disk. The result is only a hint: a run has to prove that it was this machine.
 */
export const machinesOfGoneNode = async (cluster: Cluster, suspect: SuspectNode, ports: Ports): Promise<Below> => {
  const volumes = await volumesLeft(cluster, suspect, ports);
  if (volumes.length === 0) return { machines: [], doubt: null };
  try {
    return await byTheirDisks(suspect, volumes, ports);
  } catch (error) {
    if (error instanceof CloudfenceError)
      return unknownMachine(suspect, `Cloudfence cannot read their disks: ${error.message}`);
    throw error;
  }
};
