import type { Cluster, SuspectNode } from '../model/cluster.ts';
import type { MachineFacts, MachineId } from '../model/machine.ts';
import type { Outcome } from '../model/outcome.ts';
import { runAll, type SharedRunOptions } from '../loop/run.ts';
import { longWaits } from '../model/reason.ts';
import type { Ports } from '../loop/ports.ts';
import {
  groupByMachine,
  refuseAmbiguous,
  locationHint,
  candidatesIn,
  outcomesOfUnnamed,
  type CandidateScan,
  type SweepCandidate,
} from './candidates.ts';
import type { FenceRecord } from '../model/record.ts';

/** One sweep over all clusters: finds the suspects, orders them by urgency, and starts a run for each machine. */

export interface SweepOutcome {
  readonly outcomes: readonly Outcome[];
  /** Clusters that could not be asked, and why. Their Nodes are unknown, not fine. */
  readonly unreachable: CandidateScan['unreachable'];
  readonly overdue: OverdueFences;
}

/** The time limit of a run in a sweep. If the run has to wait longer, the next sweep finds the machine again. */
const LONGEST_RUN_MS = 30_000;

/**
 * Finds what events missed: stale Leases, fences in progress or waiting for a return, and attachments of Nodes that are
 * gone. Costs a few lists per cluster and one look at the machines that they name. A run then goes where its machine
 * was seen.
 */
export const sweep = async (occasion: SharedRunOptions, ports: Ports): Promise<SweepOutcome> => {
  const scans = await Promise.all(ports.clusters.map((cluster) => survey(cluster, occasion, ports)));
  const candidates = scans.flatMap(({ candidates: found }) => found);
  const named = groupByMachine(candidates);
  const doubtful = [...named].flatMap(([machine, seen]) => refuseAmbiguous(machine, seen, occasion, ports) ?? []);
  const clear = new Map([...named].filter(([machine]) => doubtful.every((outcome) => outcome.machine !== machine)));
  const facts = await factsOf([...clear.keys()], ports);
  const locationHints = new Map([...clear].map(([machine, seen]) => [machine, locationHint(machine, seen)]));
  const outcomes = await runAll(
    inTurn(clear, facts, occasion.newRunId),
    { ...occasion, runLasts: LONGEST_RUN_MS, handsOver: longWaits },
    ports,
    locationHints,
  );
  return {
    outcomes: [...outcomes.filter(isNews), ...doubtful, ...outcomesOfUnnamed(candidates, occasion, ports)],
    unreachable: scans.flatMap(({ unreachable }) => unreachable),
    overdue: overdueFences(candidates, facts, outcomes, ports.clock.now().wall),
  };
};

const survey = async (cluster: Cluster, occasion: SharedRunOptions, ports: Ports): Promise<CandidateScan> => {
  const scan = await candidatesIn(cluster, occasion, ports);
  await concludeDead(cluster, scan, occasion, ports);
  return scan;
};

/** Returns whether a fence, or what a Node that is gone left behind, may be any machine's. */
const isAnybodys = ({ suspect, doubt, fault }: SweepCandidate): boolean =>
  (suspect.because === 'fenced' || suspect.because === 'node-missing') && (doubt !== null || fault !== null);

/** Returns whether a Node is parked and has nothing attached: its fence is finished, whether or not that was entered. */
const isFinished = ({ record, marked, attachments }: SuspectNode): boolean =>
  record?.phase === 'fenced' && !marked && attachments.length === 0;

/**
 * Gives back the places of fences that are over although their runs were killed before they could enter that in the
 * ledger. A machine with a mark, with a stale Lease, or with attachments and no Node keeps its place. In doubt about one
 * of them, each machine does. If the ledger cannot be written, they all do as well, and the next reservation says why.
 */
const concludeDead = async (
  cluster: Cluster,
  { candidates, unreachable }: CandidateScan,
  { policy }: SharedRunOptions,
  { signal }: Ports,
): Promise<void> => {
  if (policy.dryRun || policy.paused !== null || unreachable.length > 0 || candidates.some(isAnybodys)) return;
  const unfinished = candidates.filter(({ suspect }) => !isFinished(suspect));
  await cluster.concludeUnless([...groupByMachine(unfinished).keys()], signal).catch(() => undefined);
};

/**
 * Returns whether an outcome says something new. A parked Node on which nothing has come back is not reported again
 * with each sweep.
 */
const isNews = ({ outcome, steps }: Outcome): boolean => outcome !== 'fenced' || steps.length > 0;

/** Looks at all machines once. If the look fails, each run looks for itself: one bad zone must not hide the others. */
const factsOf = async (machines: readonly MachineId[], { cloud, signal }: Ports): Promise<readonly MachineFacts[]> =>
  machines.length === 0 ? [] : cloud.look(machines, { disks: false }, signal).catch(() => []);

/**
 * Returns whether a fence is finished and its machine is still off in the same boot, with nothing attached. Then its
 * work is done until the machine comes back, or goes for good.
 */
const isParked = (suspect: SuspectNode, { power, generation, forGood }: MachineFacts): boolean =>
  isFinished(suspect) && power === 'off' && !forGood && suspect.record?.generation === generation;

/**
 * Returns how urgent a machine is, the most urgent first:
 * - 0: our out-of-service taint is on a machine that is not off, and has to go before anything else
 * - 1: new machines that are off
 * - 2: new machines that are going off, or about which the cloud said nothing
 * - 3: fences in progress, so that those that cannot finish do not delay others
 * - 4: machines that run: when the network is down, they are many
 * - 5: parked machines
 */
const urgency = (named: readonly SweepCandidate[], facts: MachineFacts | undefined): number => {
  const suspects = named.map(({ suspect }) => suspect);
  const off = facts?.power === 'off' || facts?.power === 'missing';
  if (facts && !off && facts.power !== 'unknown' && suspects.some(({ marked }) => marked)) return 0;
  if (facts && suspects.every((suspect) => isParked(suspect, facts))) return 5;
  if (facts?.power === 'running' || facts?.power === 'starting') return 4;
  if (suspects.some(({ record }) => record !== null)) return 3;
  return off ? 1 : 2;
};

/** The number of parked Nodes that each sweep looks at, for a pod that someone has bound there by name since. */
const PARKED_LOOKED_AT = 3;

/**
 * Returns the machines to look at, the most urgent first. Machines of one urgency come in random order, so that each
 * gets its turn.
 */
const inTurn = (
  candidates: ReadonlyMap<MachineId, readonly SweepCandidate[]>,
  facts: readonly MachineFacts[],
  chance: () => string,
): readonly MachineId[] => {
  const seenAs = new Map(facts.map((seen) => [seen.machine, seen]));
  const drawn = [...candidates].map(([machine, named]) => ({
    machine,
    urgency: urgency(named, seenAs.get(machine)),
    lot: chance(),
  }));
  const ordered = drawn.sort((a, b) => a.urgency - b.urgency || a.lot.localeCompare(b.lot));
  const parked = ordered.filter(({ urgency: of }) => of === 5).slice(PARKED_LOOKED_AT);
  return ordered.filter((one) => !parked.includes(one)).map(({ machine }) => machine);
};

export interface FencedNode {
  readonly cluster: string;
  readonly node: string;
}

export interface OverdueFences {
  /** Nodes that have been fenced for more than a day. */
  readonly fenced: readonly FencedNode[];
  /** Nodes whose machine came back more than ten minutes ago, and whose fence still stands. */
  readonly returned: readonly FencedNode[];
}

export const overdueAfter = { fence: 24 * 3_600_000, release: 10 * 60_000 } as const;

/**
 * Returns when the machine of a fenced Node came back (epoch ms), or null if it is not back, or nobody says since when.
 * The record says when the fence was lifted. For a finished fence it says when that was finished, which is too early.
 */
const returnedAt = ({ phase, released }: FenceRecord, { power, since }: MachineFacts): number | null => {
  if (power !== 'running' && power !== 'starting') return null;
  return since ?? (phase === 'lifted' && released !== null ? Date.parse(released) : null);
};

const isReleased = ({ cluster, suspect }: SweepCandidate, outcomes: readonly Outcome[]): boolean =>
  outcomes.some((one) => one.outcome === 'released' && one.cluster === cluster && one.node === suspect.node);

/** Returns what stands for too long, by what a sweep has read. The outcomes say what it has released since. */
const overdueFences = (
  candidates: readonly SweepCandidate[],
  facts: readonly MachineFacts[],
  outcomes: readonly Outcome[],
  now: number,
): OverdueFences => {
  const factsFor = new Map(facts.map((one) => [one.machine, one]));
  const standing = candidates.flatMap((candidate) => {
    const { cluster, suspect, machines } = candidate;
    const { record, node, because } = suspect;
    if (because !== 'fenced' || record === null || isReleased(candidate, outcomes)) return [];
    const begun = Date.parse(record.begun);
    const back = machines.flatMap((machine) => factsFor.get(machine) ?? []).map((one) => returnedAt(record, one));
    return [{ at: { cluster, node }, begun, back: back.find((time) => time !== null) ?? null }];
  });
  return {
    fenced: standing.filter(({ begun }) => now - begun > overdueAfter.fence).map(({ at }) => at),
    returned: standing
      .filter(({ begun, back }) => back !== null && now - Math.max(begun, back) > overdueAfter.release)
      .map(({ at }) => at),
  };
};
