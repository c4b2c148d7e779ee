import type { Cluster, SuspectNode } from '../model/cluster.ts';
import { isPoweredOff, type MachineFacts, type MachineId, seemsOff } from '../model/machine.ts';
import type { Outcome } from '../model/outcome.ts';
import { runAll, type SharedRunOptions } from '../loop/run.ts';
import { longWaits } from '../model/reason.ts';
import { endInTime, halfOf, type Ports } from '../loop/ports.ts';
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
  /** Clusters that did not answer, with the reason. The state of their Nodes is unknown. */
  readonly unreachable: CandidateScan['unreachable'];
  readonly overdue: OverdueFences;
}

/** The time limit of a run in a sweep. If the run has to wait longer, the next sweep finds the machine again. */
const LONGEST_RUN_MS = 30_000;

/**
 * Finds machines that no event named: stale Leases, fences that are unfinished or wait for a return, and attachments of
 * deleted Nodes. Makes a few list calls per cluster and one look at the machines that they name. Each run then begins
 * where its machine was seen.
 */
export const sweep = async (runOptions: SharedRunOptions, ports: Ports): Promise<SweepOutcome> => {
  const scans = await Promise.all(ports.clusters.map((cluster) => survey(cluster, runOptions, ports)));
  const candidates = scans.flatMap(({ candidates: found }) => found);
  const named = groupByMachine(candidates);
  const doubtful = [...named].flatMap(([machine, seen]) => refuseAmbiguous(machine, seen, runOptions, ports) ?? []);
  const clear = new Map([...named].filter(([machine]) => doubtful.every((outcome) => outcome.machine !== machine)));
  const facts = await factsOf([...clear.keys()], runOptions, ports);
  const locationHints = new Map([...clear].map(([machine, seen]) => [machine, locationHint(machine, seen)]));
  const outcomes = await runAll(
    inTurn(clear, facts, runOptions.newRunId),
    { ...runOptions, runLasts: LONGEST_RUN_MS, handsOver: longWaits },
    ports,
    locationHints,
  );
  return {
    outcomes: [...outcomes.filter(isNews), ...doubtful, ...outcomesOfUnnamed(candidates, runOptions, ports)],
    unreachable: scans.flatMap(({ unreachable }) => unreachable),
    overdue: overdueFences(candidates, facts, outcomes, ports.clock.now().wall),
  };
};

const survey = async (cluster: Cluster, runOptions: SharedRunOptions, ports: Ports): Promise<CandidateScan> => {
  const readAt = ports.clock.now().wall;
  const scan = await candidatesIn(cluster, runOptions, ports);
  await concludeDead(cluster, { ...scan, readAt }, runOptions, ports);
  return scan;
};

/**
 * Returns whether a fence, or an object of a deleted Node, may belong to any machine. An object that names no machine
 * may belong to a machine of another cloud, whose install uses the same ledger.
 */
const isAnybodys = ({ suspect, machines }: SweepCandidate): boolean =>
  (suspect.because === 'fenced' || suspect.because === 'node-missing') && machines.length === 0;

/**
 * Returns whether a Node is parked and has no attachments: its fence is finished, even if the ledger does not show it
 * yet.
 */
const isFinished = ({ record, marked, attachments }: SuspectNode): boolean =>
  record?.phase === 'fenced' && !marked && attachments.length === 0;

/**
 * Removes the reservations of fences that have ended although their runs died before they could record that in the
 * ledger. A machine keeps its reservation if it has a mark, a stale Lease, or attachments without a Node. If one of
 * them cannot be identified, all machines keep their reservations. If the ledger cannot be written, all reservations
 * stay, and the next reservation reports the reason.
 */
const concludeDead = async (
  cluster: Cluster,
  { candidates, unreachable, readAt }: CandidateScan & { readonly readAt: number },
  { policy, deadline }: SharedRunOptions,
  ports: Ports,
): Promise<void> => {
  if (policy.dryRun || policy.paused !== null || unreachable.length > 0 || candidates.some(isAnybodys)) return;
  const unfinished = candidates.filter(({ suspect }) => !isFinished(suspect));
  const showing = [...groupByMachine(unfinished).keys()];
  await endInTime(halfOf(deadline, ports), ports, (signal) => cluster.concludeUnless(showing, readAt, signal)).catch(
    () => undefined,
  );
};

/**
 * Returns whether an outcome contains something new. So sweeps do not report a parked Node again if nothing has come
 * back to it.
 */
const isNews = ({ outcome, steps }: Outcome): boolean => outcome !== 'fenced' || steps.length > 0;

/**
 * Looks at all machines once. If the look fails, each run makes its own look, because a failing zone must not hide the
 * others.
 */
const factsOf = async (
  machines: readonly MachineId[],
  { deadline }: SharedRunOptions,
  ports: Ports,
): Promise<readonly MachineFacts[]> =>
  machines.length === 0
    ? []
    : endInTime(halfOf(deadline, ports), ports, (signal) => ports.cloud.look(machines, { disks: false }, signal)).catch(
        () => [],
      );

/**
 * Returns whether a fence is finished, and its machine is still off in the same boot with nothing attached. There is
 * then nothing to do until the machine comes back or is terminated.
 */
const isParked = (suspect: SuspectNode, facts: MachineFacts): boolean =>
  isFinished(suspect) && isPoweredOff(facts) && !facts.forGood && suspect.record?.generation === facts.generation;

/**
 * Returns the urgency of a machine, where 0 is the most urgent:
 * - 0: our out-of-service taint is on a machine that is not off, and must be removed first
 * - 1: new machines that are off
 * - 2: new machines that are stopping, or about which the cloud did not answer
 * - 3: fences in progress. They come after new machines, so that fences that cannot finish do not delay others
 * - 4: machines that run. If the network is down, there are many of them
 * - 5: parked machines
 */
const urgency = (named: readonly SweepCandidate[], facts: MachineFacts | undefined): number => {
  const suspects = named.map(({ suspect }) => suspect);
  const off = facts !== undefined && seemsOff(facts);
  if (facts && !off && facts.power !== 'unknown' && suspects.some(({ marked }) => marked)) return 0;
  if (facts && suspects.every((suspect) => isParked(suspect, facts))) return 5;
  if (facts?.power === 'running' || facts?.power === 'starting') return 4;
  if (suspects.some(({ record }) => record !== null)) return 3;
  return off ? 1 : 2;
};

/** The number of parked Nodes that each sweep checks for pods that were bound to them by name since. */
const PARKED_LOOKED_AT = 3;

/**
 * Returns the machines, the most urgent first. Machines of the same urgency are in random order, so that each gets its
 * turn.
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
  /** Nodes that are still fenced although their machine came back more than ten minutes ago. */
  readonly returned: readonly FencedNode[];
}

export const overdueAfter = { fence: 24 * 3_600_000, release: 10 * 60_000 } as const;

/**
 * Returns when the machine of a fenced Node came back (epoch ms). Null if it is not back, or if the time is not known.
 * The record contains the time at which the mark was removed. For a finished fence, it contains the time at which the
 * fence was finished, which is too early. The record is null if it is lost.
 */
const returnedAt = (record: FenceRecord | null, { power, since }: MachineFacts): number | null => {
  if (power !== 'running' && power !== 'starting') return null;
  const lifted = record?.phase === 'lifted' ? record.released : null;
  return since ?? (lifted === null ? null : Date.parse(lifted));
};

const isReleased = ({ cluster, suspect }: SweepCandidate, outcomes: readonly Outcome[]): boolean =>
  outcomes.some((one) => one.outcome === 'released' && one.cluster === cluster && one.node === suspect.node);

/**
 * Returns the fences that have lasted too long, according to a sweep. Without its record, nobody knows when a fence
 * began, so only the return of its machine counts. The outcomes show which of them the sweep has
 * released.
 */
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
    if (because !== 'fenced' || isReleased(candidate, outcomes)) return [];
    const begun = record && Date.parse(record.begun);
    const back = machines.flatMap((machine) => factsFor.get(machine) ?? []).map((one) => returnedAt(record, one));
    return [{ at: { cluster, node }, begun, back: back.find((time) => time !== null) ?? null }];
  });
  return {
    fenced: standing.filter(({ begun }) => begun !== null && now - begun > overdueAfter.fence).map(({ at }) => at),
    returned: standing
      .filter(({ begun, back }) => back !== null && now - Math.max(begun ?? back, back) > overdueAfter.release)
      .map(({ at }) => at),
  };
};
