import type { Cluster, Suspect } from './cluster.ts';
import { CloudfenceError } from './errors.ts';
import type { MachineFacts, MachineId } from './machine.ts';
import type { Outcome } from './outcome.ts';
import { react, type Lead, type Occasion } from './react.ts';
import { STALE_LEASE_MS, type Ports } from './run.ts';

export interface Swept {
  readonly outcomes: readonly Outcome[];
  /** Clusters that could not be asked, and why: their nodes are unknown, not fine. */
  readonly unreachable: readonly { readonly cluster: string; readonly error: CloudfenceError }[];
}

/** A sweep's runs end early: what has to be waited for, the next sweep finds again. */
const LONGEST_RUN_MS = 20_000;

/** A suspect, and the cluster that it stands in. */
interface Sighting {
  readonly cluster: string;
  readonly suspect: Suspect;
}

type Sightings = ReadonlyMap<MachineId, readonly Sighting[]>;

/**
 * Finds what events missed: stale Leases, fences under way or waiting for a return, attachments of Nodes that are gone.
 * Costs a few lists per cluster and one look at the machines that they name; a run then goes where its machine was seen.
 */
export const sweep = async (occasion: Occasion, ports: Ports): Promise<Swept> => {
  const asked = await Promise.all(ports.clusters.map((cluster) => sightingsIn(cluster, ports)));
  const sightings = byMachine(asked.flatMap(({ sightings: found }) => found), ports);
  const machines = [...sightings.keys()];
  const facts = machines.length > 0 ? await ports.cloud.look(machines, { disks: false }, ports.signal) : [];
  const leads = new Map([...sightings].flatMap(([machine, seen]) => leadTo(machine, seen)));
  const outcomes = await react(inTurn(sightings, facts), { ...occasion, runLasts: LONGEST_RUN_MS }, ports, leads);
  return { outcomes, unreachable: asked.flatMap(({ unreachable }) => unreachable) };
};

const byMachine = (sightings: readonly Sighting[], { cloud }: Ports): Sightings => {
  const named = new Map<MachineId, Sighting[]>();
  for (const sighting of sightings) {
    const machines = new Set(sighting.suspect.carriers.map(cloud.machineOf).filter((machine) => machine !== null));
    for (const machine of machines) named.set(machine, [...(named.get(machine) ?? []), sighting]);
  }
  return named;
};

/** Seen in one place only: where two are named, the run has to search, and refuses if both prove to be the machine's. */
const leadTo = (machine: MachineId, [only, ...others]: readonly Sighting[]): readonly (readonly [MachineId, Lead])[] => {
  if (!only || others.length > 0) return [];
  const { cluster, suspect } = only;
  const gone = suspect.because === 'node-missing';
  return [[machine, { place: { cluster, node: gone ? null : suspect.node }, attachments: gone ? suspect.attachments : null }]];
};

/** A fence that is finished and whose machine is still off in the same boot: nothing to do until it comes back. */
const isParked = ({ record }: Suspect, { power, generation }: MachineFacts): boolean =>
  record?.phase === 'fenced' && power === 'off' && record.generation === generation;

const isUp = (facts: MachineFacts | undefined): boolean => facts?.power === 'running' || facts?.power === 'starting';

/** The machines that want a look; those that run come last, for when the network is down they are many. */
const inTurn = (sightings: Sightings, facts: readonly MachineFacts[]): readonly MachineId[] => {
  const factsOf = new Map(facts.map((seen) => [seen.machine, seen]));
  const wanted = [...sightings].filter(([machine, named]) => {
    const seen = factsOf.get(machine);
    return !seen || !named.every(({ suspect }) => isParked(suspect, seen));
  });
  const machines = wanted.map(([machine]) => machine);
  const up = (machine: MachineId): boolean => isUp(factsOf.get(machine));
  return [...machines.filter((machine) => !up(machine)), ...machines.filter(up)];
};

interface Asked {
  readonly sightings: readonly Sighting[];
  readonly unreachable: Swept['unreachable'];
}

const sightingsIn = async ({ name: cluster, suspects }: Cluster, { signal }: Ports): Promise<Asked> => {
  try {
    const found = await suspects(STALE_LEASE_MS, signal);
    return { sightings: found.map((suspect) => ({ cluster, suspect })), unreachable: [] };
  } catch (error) {
    if (error instanceof CloudfenceError) return { sightings: [], unreachable: [{ cluster, error }] };
    throw error;
  }
};
