import type { Cluster, Suspect } from './cluster.ts';
import { CloudfenceError } from './errors.ts';
import { outcomeOf } from './ending.ts';
import { begin } from './known.ts';
import type { MachineId } from './machine.ts';
import type { Outcome } from './outcome.ts';
import type { Lead, Occasion } from './react.ts';
import { because, type Reason } from './reason.ts';
import { STALE_LEASE_MS, type Ports } from './run.ts';

/** A suspect, and the cluster that it stands in. */
export interface Sighting {
  readonly cluster: string;
  readonly suspect: Suspect;
}

export interface Asked {
  readonly sightings: readonly Sighting[];
  readonly unreachable: readonly { readonly cluster: string; readonly error: CloudfenceError }[];
}

const namesNobody = ({ carriers }: Suspect, { cloud }: Ports): boolean => carriers.every((carrier) => cloud.machineOf(carrier) === null);

/** Where a Node itself does not name its machine, all that may name it is asked. */
const identified = async (cluster: Cluster, suspect: Suspect, ports: Ports): Promise<Suspect> => {
  if (suspect.because === 'node-missing' || !namesNobody(suspect, ports)) return suspect;
  return { ...suspect, carriers: (await cluster.identify(suspect.node, ports.signal)) ?? suspect.carriers };
};

/** What stands out in one cluster. A cluster that gives no answer is named: its nodes are unknown, not fine. */
export const sightingsIn = async (cluster: Cluster, ports: Ports): Promise<Asked> => {
  try {
    const suspects = await cluster.suspects(STALE_LEASE_MS, ports.signal);
    const found = await Promise.all(suspects.map((suspect) => identified(cluster, suspect, ports)));
    return { sightings: found.map((suspect) => ({ cluster: cluster.name, suspect })), unreachable: [] };
  } catch (error) {
    if (error instanceof CloudfenceError) return { sightings: [], unreachable: [{ cluster: cluster.name, error }] };
    throw error;
  }
};

export const byMachine = (sightings: readonly Sighting[], { cloud }: Ports): ReadonlyMap<MachineId, readonly Sighting[]> => {
  const named = new Map<MachineId, Sighting[]>();
  for (const sighting of sightings) {
    const machines = new Set(sighting.suspect.carriers.map(cloud.machineOf).filter((machine) => machine !== null));
    for (const machine of machines) named.set(machine, [...(named.get(machine) ?? []), sighting]);
  }
  return named;
};

/** Seen in one place only: the run goes there at once. */
export const leadTo = (machine: MachineId, [only, ...others]: readonly Sighting[]): readonly (readonly [MachineId, Lead])[] => {
  if (!only || others.length > 0) return [];
  const { cluster, suspect } = only;
  const gone = suspect.because === 'node-missing';
  return [[machine, { place: { cluster, node: gone ? null : suspect.node }, attachments: gone ? suspect.attachments : null }]];
};

const refused = (machine: MachineId, { cluster, suspect }: Sighting, reason: Reason, { newRunId, ...occasion }: Occasion, { cloud, clock }: Ports): Outcome => {
  const known = begin({ ...occasion, place: { cluster, node: suspect.node }, request: { machine, intent: 'react', accepted: null, vouched: null }, reading: cloud, runId: newRunId() });
  return outcomeOf({ ...known, ending: { outcome: 'refused', reason, lookAgainIn: null, retry: false } }, clock.now());
};

/** Silent Nodes of which nothing says which machine they are: nobody can prove them off, and somebody should know. */
export const unnamed = (sightings: readonly Sighting[], occasion: Occasion, ports: Ports): readonly Outcome[] =>
  sightings
    .filter(({ suspect }) => namesNobody(suspect, ports) && suspect.because !== 'node-missing')
    .map((sighting) => refused('', sighting, because('identity-unproven', `nothing on Node ${sighting.suspect.node} names a machine of ${ports.cloud.name}; run doctor for the mend`), occasion, ports));

/** Two standing Nodes that claim one machine: neither is acted on. */
export const claimedTwice = (machine: MachineId, sightings: readonly Sighting[], occasion: Occasion, ports: Ports): Outcome | null => {
  const standing = sightings.filter(({ suspect }) => suspect.because !== 'node-missing');
  const [first, second] = standing;
  if (!first || !second) return null;
  const names = standing.map(({ cluster, suspect }) => `${suspect.node} in ${cluster}`).join(', ');
  return refused(machine, first, because('identity-ambiguous', `more than one Node names ${machine}: ${names}; run doctor for the mend`), occasion, ports);
};
