import type { Cluster, Suspect } from './cluster.ts';
import { CloudfenceError } from './errors.ts';
import type { MachineFacts, MachineId } from './machine.ts';
import type { Outcome } from './outcome.ts';
import { react, type Occasion } from './react.ts';
import { STALE_LEASE_MS, type Ports } from './run.ts';

export interface Swept {
  readonly outcomes: readonly Outcome[];
  /** Clusters that could not be asked, and why: their nodes are unknown, not fine. */
  readonly unreachable: readonly { readonly cluster: string; readonly error: CloudfenceError }[];
}

/** A sweep's runs end early: what has to be waited for, the next sweep finds again. */
const LONGEST_RUN_MS = 20_000;

const machinesOf = (suspect: Suspect, ports: Ports): readonly MachineId[] =>
  suspect.carriers.map(ports.cloud.machineOf).filter((machine) => machine !== null);

/** A fence that is finished and whose machine is still off in the same boot: nothing to do until it comes back. */
const isParked = ({ record }: Suspect, { power, generation }: MachineFacts): boolean =>
  record?.phase === 'fenced' && power === 'off' && record.generation === generation;

/**
 * Finds what events missed: stale Leases, fences under way or waiting for a return, attachments of Nodes that are gone.
 * Costs a few lists per cluster and one look at the machines that they name.
 */
export const sweep = async (occasion: Occasion, ports: Ports): Promise<Swept> => {
  const asked = await Promise.all(ports.clusters.map((cluster) => suspectsOf(cluster, ports)));
  const suspects = asked.flatMap(({ suspects: found }) => found);
  const machines = [...new Set(suspects.flatMap((suspect) => machinesOf(suspect, ports)))];
  const facts = machines.length > 0 ? await ports.cloud.look(machines, { disks: false }, ports.signal) : [];
  const deadline = Math.min(occasion.deadline, ports.clock.now().mono + LONGEST_RUN_MS);
  const outcomes = await react(machines.filter((machine) => wantsALook(machine, suspects, facts, ports)), { ...occasion, deadline }, ports);
  return { outcomes, unreachable: asked.flatMap(({ unreachable }) => unreachable) };
};

const wantsALook = (machine: MachineId, suspects: readonly Suspect[], facts: readonly MachineFacts[], ports: Ports): boolean => {
  const seen = facts.find((other) => other.machine === machine);
  const named = suspects.filter((suspect) => machinesOf(suspect, ports).includes(machine));
  return !seen || !named.every((suspect) => isParked(suspect, seen));
};

interface Asked {
  readonly suspects: readonly Suspect[];
  readonly unreachable: Swept['unreachable'];
}

const suspectsOf = async (cluster: Cluster, { signal }: Ports): Promise<Asked> => {
  try {
    return { suspects: await cluster.suspects(STALE_LEASE_MS, signal), unreachable: [] };
  } catch (error) {
    if (error instanceof CloudfenceError) return { suspects: [], unreachable: [{ cluster: cluster.name, error }] };
    throw error;
  }
};
