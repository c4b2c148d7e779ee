import type { Suspect } from './cluster.ts';
import type { MachineFacts, MachineId } from './machine.ts';
import type { Outcome } from './outcome.ts';
import { react, type Occasion } from './react.ts';
import { longWaits } from './reason.ts';
import type { Ports } from './ports.ts';
import { byMachine, claimedTwice, leadTo, sightingsIn, unnamed, type Asked, type Sighting } from './sightings.ts';

export interface Swept {
  readonly outcomes: readonly Outcome[];
  /** Clusters that could not be asked, and why: their nodes are unknown, not fine. */
  readonly unreachable: Asked['unreachable'];
}

/** A sweep's runs end early: what has to be waited for, the next sweep finds again. */
const LONGEST_RUN_MS = 30_000;

/**
 * Finds what events missed: stale Leases, fences under way or waiting for a return, attachments of Nodes that are gone.
 * Costs a few lists per cluster and one look at the machines that they name; a run then goes where its machine was seen.
 */
export const sweep = async (occasion: Occasion, ports: Ports): Promise<Swept> => {
  const asked = await Promise.all(ports.clusters.map((cluster) => sightingsIn(cluster, ports)));
  const sightings = asked.flatMap(({ sightings: found }) => found);
  const named = byMachine(sightings);
  const doubtful = [...named].flatMap(([machine, seen]) => claimedTwice(machine, seen, occasion, ports) ?? []);
  const clear = new Map([...named].filter(([machine]) => doubtful.every((outcome) => outcome.machine !== machine)));
  const facts = await factsOf([...clear.keys()], ports);
  const leads = new Map([...clear].flatMap(([machine, seen]) => leadTo(machine, seen)));
  const outcomes = await react(inTurn(clear, facts), { ...occasion, runLasts: LONGEST_RUN_MS, handsOver: longWaits }, ports, leads);
  return {
    outcomes: [...outcomes, ...doubtful, ...unnamed(sightings, occasion, ports)],
    unreachable: asked.flatMap(({ unreachable }) => unreachable),
  };
};

/** One look at all machines. Where it fails, each run looks for itself: one bad zone must not hide the others. */
const factsOf = async (machines: readonly MachineId[], { cloud, signal }: Ports): Promise<readonly MachineFacts[]> =>
  machines.length === 0 ? [] : cloud.look(machines, { disks: false }, signal).catch(() => []);

/** A fence that is finished and whose machine is still off in the same boot: nothing to do until it comes back, or goes for good. */
const isParked = ({ record }: Suspect, { power, generation, forGood }: MachineFacts): boolean =>
  record?.phase === 'fenced' && power === 'off' && !forGood && record.generation === generation;

/** Those that are off first; those that run last, for when the network is down they are many. */
const urgency = (facts: MachineFacts | undefined): number => {
  if (!facts || facts.power === 'off' || facts.power === 'missing') return 0;
  return facts.power === 'running' || facts.power === 'starting' ? 2 : 1;
};

/** The machines that want a look, the most urgent first. */
const inTurn = (sightings: ReadonlyMap<MachineId, readonly Sighting[]>, facts: readonly MachineFacts[]): readonly MachineId[] => {
  const seenAs = new Map(facts.map((seen) => [seen.machine, seen]));
  const wanted = [...sightings].filter(([machine, named]) => {
    const seen = seenAs.get(machine);
    return !seen || !named.every(({ suspect }) => isParked(suspect, seen));
  });
  return wanted.map(([machine]) => machine).sort((a, b) => urgency(seenAs.get(a)) - urgency(seenAs.get(b)));
};
