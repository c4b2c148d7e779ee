import { endInTime, type Ports } from '../loop/ports.ts';
import type { VolumeFacts } from '../model/cluster-facts.ts';
import type { Cluster, SuspectNode } from '../model/cluster.ts';
import { CloudfenceError, Unexpected } from '../model/errors.ts';
import type { MachineId } from '../model/machine.ts';
import { UNKNOWN_MACHINE } from './lift.ts';

/** Finds the machine of a deleted Node through the disks that were attached to it. */

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
  // A common look may leave out the machine that exists. So each guess takes an answer.
  const looks = [...guesses].map((machine) => cloud.look([machine], { disks: false }, signal));
  const facts = (await Promise.all(looks)).flat();
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
 * cloud can find the holder of a disk. The result is only a hint: a run has to prove that it was this machine. `lasts`:
 * how long (ms) the cloud may take, so that one account that does not answer does not hide the other Nodes.
 */
export const machinesOfGoneNode = async (
  cluster: Cluster,
  suspect: SuspectNode,
  ports: Ports,
  lasts: number,
): Promise<Below> => {
  const volumes = await volumesLeft(cluster, suspect, ports);
  if (volumes.length === 0) return { machines: [], doubt: null };
  try {
    return await endInTime(lasts, ports, (signal) => byTheirDisks(suspect, volumes, { ...ports, signal }));
  } catch (error) {
    if (error instanceof CloudfenceError && !(error instanceof Unexpected))
      return unknownMachine(suspect, `Cloudfence cannot read their disks: ${error.message}`);
    throw error;
  }
};
