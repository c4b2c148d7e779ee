import type { Suspect } from '../model/cluster.ts';
import type { MachineFacts, MachineId } from '../model/machine.ts';
import type { Outcome } from '../model/outcome.ts';
import { react, type Occasion } from '../loop/react.ts';
import { longWaits } from '../model/reason.ts';
import type { Ports } from '../loop/ports.ts';
import {
  byMachine,
  claimedTwice,
  locationHint,
  candidatesIn,
  unnamed,
  type Asked,
  type SweepCandidate,
} from './candidates.ts';

export interface Swept {
  readonly outcomes: readonly Outcome[];
  /** Clusters that could not be asked, and why: their nodes are unknown, not fine. */
  readonly unreachable: Asked['unreachable'];
}

/** A sweep's runs end early: what has to be waited for, the next sweep finds again. */
const LONGEST_RUN_MS = 30_000;

/**
 * Finds what events missed: stale Leases, fences under way or waiting for a return, attachments of Nodes that are gone.
 * Costs a few lists per cluster and one look at the machines that they name; a run then goes where its machine was
 * seen.
 */
export const sweep = async (occasion: Occasion, ports: Ports): Promise<Swept> => {
  const asked = await Promise.all(ports.clusters.map((cluster) => candidatesIn(cluster, ports)));
  const sightings = asked.flatMap(({ sightings: found }) => found);
  const named = byMachine(sightings);
  const doubtful = [...named].flatMap(([machine, seen]) => claimedTwice(machine, seen, occasion, ports) ?? []);
  const clear = new Map([...named].filter(([machine]) => doubtful.every((outcome) => outcome.machine !== machine)));
  const facts = await factsOf([...clear.keys()], ports);
  const leads = new Map([...clear].flatMap(([machine, seen]) => locationHint(machine, seen)));
  const outcomes = await react(
    inTurn(clear, facts, occasion.newRunId),
    { ...occasion, runLasts: LONGEST_RUN_MS, handsOver: longWaits },
    ports,
    leads,
  );
  return {
    outcomes: [...outcomes.filter(isNews), ...doubtful, ...unnamed(sightings, occasion, ports)],
    unreachable: asked.flatMap(({ unreachable }) => unreachable),
  };
};

/** A parked Node on which nothing has come back is not told again with each sweep. */
const isNews = ({ outcome, steps }: Outcome): boolean => outcome !== 'fenced' || steps.length > 0;

/** One look at all machines. Where it fails, each run looks for itself: one bad zone must not hide the others. */
const factsOf = async (machines: readonly MachineId[], { cloud, signal }: Ports): Promise<readonly MachineFacts[]> =>
  machines.length === 0 ? [] : cloud.look(machines, { disks: false }, signal).catch(() => []);

/**
 * A fence that is finished and whose machine is still off in the same boot, with nothing attached: its work is done
 * until it comes back, or goes for good.
 */
const isParked = ({ record, marked, attachments }: Suspect, { power, generation, forGood }: MachineFacts): boolean =>
  record?.phase === 'fenced' &&
  !marked &&
  attachments.length === 0 &&
  power === 'off' &&
  !forGood &&
  record.generation === generation;

/**
 * - 0: our out-of-service taint stands on a machine that is not off: it has to go before anything else
 * - 1: new ones that are off, 2: new ones that go, or of which the cloud said nothing
 * - 3: fences under way, so that those that cannot finish hold nobody up
 * - 4: those that run: when the network is down they are many
 * - 5: parked ones
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

/** So many parked Nodes are looked at in each sweep, for a pod that somebody has bound there by name since. */
const PARKED_LOOKED_AT = 3;

/**
 * The machines that want a look, the most urgent first; those of one urgency in an order of chance, so that each gets
 * its turn.
 */
const inTurn = (
  sightings: ReadonlyMap<MachineId, readonly SweepCandidate[]>,
  facts: readonly MachineFacts[],
  chance: () => string,
): readonly MachineId[] => {
  const seenAs = new Map(facts.map((seen) => [seen.machine, seen]));
  const drawn = [...sightings].map(([machine, named]) => ({
    machine,
    urgency: urgency(named, seenAs.get(machine)),
    lot: chance(),
  }));
  const ordered = drawn.sort((a, b) => a.urgency - b.urgency || a.lot.localeCompare(b.lot));
  const parked = ordered.filter(({ urgency: of }) => of === 5).slice(PARKED_LOOKED_AT);
  return ordered.filter((one) => !parked.includes(one)).map(({ machine }) => machine);
};
