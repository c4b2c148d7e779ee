import { outcomeOf } from '../loop/ending.ts';
import { moreThanOne } from '../loop/locate.ts';
import { type Ports, STALE_LEASE_MS } from '../loop/ports.ts';
import type { LocationHint, Occasion } from '../loop/react.ts';
import { failedEnding } from '../loop/reduce.ts';
import { startRun, type Ending } from '../loop/state.ts';
import type { VolumeFacts } from '../model/cluster-facts.ts';
import type { Cluster, Suspect } from '../model/cluster.ts';
import { CloudfenceError, inHierarchy } from '../model/errors.ts';
import { type MachineId, ownMachine } from '../model/machine.ts';
import type { Outcome } from '../model/outcome.ts';
import { because, type Reason } from '../model/reason.ts';

/** A suspect, the cluster that it stands in, and the machines that it may be. */
export interface SweepCandidate {
  readonly cluster: string;
  readonly suspect: Suspect;
  readonly machines: readonly MachineId[];
  /** Why none of them is known although one should be, in words for people; null otherwise. */
  readonly doubt: string | null;
  /** The fault that kept it from being told, or null. */
  readonly fault: CloudfenceError | null;
}

export interface Asked {
  readonly sightings: readonly SweepCandidate[];
  readonly unreachable: readonly { readonly cluster: string; readonly error: CloudfenceError }[];
}

/**
 * A Node is its providerID's machine's alone: its run tells whatever else the Node claims, and keeps no other from its
 * own.
 */
const machinesOf = ({ identitySources }: Suspect, { cloud }: Ports): readonly MachineId[] => {
  const own = ownMachine(identitySources, cloud.machineOf);
  return own === null
    ? [...new Set(identitySources.map(cloud.machineOf).filter((machine) => machine !== null))]
    : [own];
};

/** Where a Node itself does not name its machine, all that may name it is asked; where it is gone, its disks are. */
const toldOf = async (cluster: Cluster, suspect: Suspect, ports: Ports): Promise<SweepCandidate> => {
  const sighting = { cluster: cluster.name, suspect, machines: machinesOf(suspect, ports), doubt: null, fault: null };
  if (sighting.machines.length > 0) return sighting;
  if (suspect.because === 'node-missing') return { ...sighting, ...(await machinesBelow(cluster, suspect, ports)) };
  const asked = {
    ...suspect,
    identitySources: (await cluster.identify(suspect.node, ports.signal)) ?? suspect.identitySources,
  };
  const machines = machinesOf(asked, ports);
  const doubt =
    machines.length > 0
      ? null
      : `nothing on Node ${suspect.node} names a machine of ${ports.cloud.name}; run cloudfence doctor for the remedy`;
  return { ...sighting, suspect: asked, machines, doubt };
};

/**
 * A fault of ours with one suspect says nothing of the others; a cluster or cloud that does not answer says nothing of
 * any.
 */
const sighted = async (cluster: Cluster, suspect: Suspect, ports: Ports): Promise<SweepCandidate> => {
  try {
    return await toldOf(cluster, suspect, ports);
  } catch (error) {
    if (error instanceof CloudfenceError) throw error;
    return { cluster: cluster.name, suspect, machines: [], doubt: null, fault: inHierarchy(error) };
  }
};

/** What stands out in one cluster. A cluster that gives no answer is named: its nodes are unknown, not fine. */
export const candidatesIn = async (cluster: Cluster, ports: Ports): Promise<Asked> => {
  try {
    const suspects = await cluster.suspects(STALE_LEASE_MS, ports.signal);
    return {
      sightings: await Promise.all(suspects.map((suspect) => sighted(cluster, suspect, ports))),
      unreachable: [],
    };
  } catch (error) {
    return { sightings: [], unreachable: [{ cluster: cluster.name, error: inHierarchy(error) }] };
  }
};

export const byMachine = (sightings: readonly SweepCandidate[]): ReadonlyMap<MachineId, readonly SweepCandidate[]> => {
  const named = new Map<MachineId, SweepCandidate[]>();
  for (const sighting of sightings) {
    for (const machine of sighting.machines) named.set(machine, [...(named.get(machine) ?? []), sighting]);
  }
  return named;
};

const placeOf = ({ cluster, suspect }: SweepCandidate) => ({ cluster, node: suspect.node });

const standingIn = (sightings: readonly SweepCandidate[]): readonly SweepCandidate[] =>
  sightings.filter(({ suspect }) => suspect.because !== 'node-missing');

/**
 * Seen in one place only: the run goes there at once. Of several Nodes it goes to the one that bears our taint, which
 * may have to go.
 */
export const locationHint = (
  machine: MachineId,
  sightings: readonly SweepCandidate[],
): readonly (readonly [MachineId, LocationHint])[] => {
  const standing = standingIn(sightings);
  const bearer = standing.find(({ suspect }) => suspect.marked);
  if (standing.length > 1 && bearer)
    return [
      [machine, { place: placeOf(bearer), ambiguity: moreThanOne(machine, standing.map(placeOf)), attachments: null }],
    ];
  const [only, ...others] = sightings;
  if (!only || others.length > 0) return [];
  const { cluster, suspect } = only;
  const gone = suspect.because === 'node-missing';
  return [
    [
      machine,
      {
        place: { cluster, node: gone ? null : suspect.node },
        ambiguity: null,
        attachments: gone ? suspect.attachments : null,
      },
    ],
  ];
};

const ended = (
  machine: MachineId,
  { cluster, suspect }: SweepCandidate,
  ending: Ending,
  { newRunId, ...occasion }: Occasion,
  { cloud, clock }: Ports,
): Outcome => {
  const known = startRun({
    ...occasion,
    place: { cluster, node: suspect.node },
    request: { machine, intent: 'react', accepted: null, vouched: null },
    reading: cloud,
    runId: newRunId(),
  });
  return outcomeOf({ ...known, ending }, clock.now());
};

const refusal = (reason: Reason): Ending => ({ outcome: 'refused', reason, lookAgainIn: null, retry: false });

const whyUnnamed = ({ doubt, fault }: SweepCandidate): Ending | null => {
  if (fault) return failedEnding(fault);
  return doubt === null ? null : refusal(because('identity-unproven', doubt));
};

/** Silent Nodes of which nothing says which machine they are: nobody can prove them off, and somebody should know. */
export const unnamed = (sightings: readonly SweepCandidate[], occasion: Occasion, ports: Ports): readonly Outcome[] =>
  sightings.flatMap((sighting) => {
    const why = whyUnnamed(sighting);
    return why ? [ended('', sighting, why, occasion, ports)] : [];
  });

/** Two standing Nodes that claim one machine: neither is acted on, and one that bears our taint is looked at first. */
export const claimedTwice = (
  machine: MachineId,
  sightings: readonly SweepCandidate[],
  occasion: Occasion,
  ports: Ports,
): Outcome | null => {
  const standing = standingIn(sightings);
  const [first, second] = standing;
  if (!first || !second || standing.some(({ suspect }) => suspect.marked)) return null;
  return ended(machine, first, refusal(moreThanOne(machine, standing.map(placeOf))), occasion, ports);
};

/** Which machine was below a Node that is gone and whose attachments name none. */
interface Below {
  readonly machines: readonly MachineId[];
  /** Why that is not known, in words for people; null where it is, or where no disk of this cloud is concerned. */
  readonly doubt: string | null;
}

const MOST_NAMED = 5;

const known = (machine: MachineId): Below => ({ machines: [machine], doubt: null });

const unknown = ({ node, attachments }: Suspect, why: string): Below => ({
  machines: [],
  doubt: `Node ${node} is gone, its attachments (${attachments.slice(0, MOST_NAMED).join(', ')}) name no machine, and ${why}`,
});

/** Neither a disk nor Kubernetes says that anything was ever attached there. */
const NOTHING_HELD: Below = { machines: [], doubt: null };

/** No machine has this id, so that nothing is taken for its own. */
const NOBODY: MachineId = '';

/** Volumes of this cloud that are still attached to the Node; none when another machine has its name by now. */
const volumesLeft = async (
  cluster: Cluster,
  { node, attachments }: Suspect,
  { cloud, signal }: Ports,
): Promise<readonly VolumeFacts[]> => {
  const clues = { machine: NOBODY, nodeNames: [], machineOf: cloud.machineOf };
  const facts = await cluster.look(
    { clues, node: null, remembered: null, follow: [], attachments, named: [node] },
    signal,
  );
  return facts.nameTaken ? [] : facts.volumes.filter((volume) => cloud.diskOf(volume) !== null);
};

/**
 * Nobody holds the disks, so only ids that the cloud would give to a Node of that name are left: one that it knows
 * before one that it forgot.
 */
const guessed = async (suspect: Suspect, volumes: readonly VolumeFacts[], { cloud, signal }: Ports): Promise<Below> => {
  const guesses = new Set(volumes.flatMap((volume) => cloud.machinesNamed?.(suspect.node, volume) ?? []));
  const facts = guesses.size === 0 ? [] : await cloud.look([...guesses], { disks: false }, signal);
  const fitting = facts.filter(({ nodeNames }) => nodeNames.includes(suspect.node));
  const [likeliest] = [...fitting.filter(({ power }) => power !== 'missing'), ...fitting];
  return likeliest ? known(likeliest.machine) : unknown(suspect, 'no machine of such a name can be told from here');
};

const byTheirDisks = async (suspect: Suspect, volumes: readonly VolumeFacts[], ports: Ports): Promise<Below> => {
  const holdings = (await ports.cloud.holders?.(volumes, ports.signal)) ?? [];
  const [holder, ...others] = new Set(holdings.flatMap(({ by }) => by));
  if (holder === undefined)
    return volumes.some(({ attachment }) => attachment?.attached) ? guessed(suspect, volumes, ports) : NOTHING_HELD;
  return others.length === 0
    ? known(holder)
    : unknown(suspect, `more than one machine holds their disks: ${[holder, ...others].join(', ')}`);
};

/**
 * The machine that was below a Node which is gone, by the disks that were attached to it: the one that holds them, or
 * where they are free, the one that their place and the Node's name speak for. A clue: a run has to prove that it was
 * this one.
 */
export const machinesBelow = async (cluster: Cluster, suspect: Suspect, ports: Ports): Promise<Below> => {
  if (!ports.cloud.holders) return { machines: [], doubt: null };
  const volumes = await volumesLeft(cluster, suspect, ports);
  if (volumes.length === 0) return { machines: [], doubt: null };
  try {
    return await byTheirDisks(suspect, volumes, ports);
  } catch (error) {
    if (error instanceof CloudfenceError) return unknown(suspect, `their disks cannot be asked: ${error.message}`);
    throw error;
  }
};
