import type { Cluster, Suspect } from './cluster.ts';
import { CloudfenceError } from './errors.ts';
import type { VolumeFacts } from './cluster-facts.ts';
import type { MachineId } from './machine.ts';
import type { Ports } from './ports.ts';

/** Which machine was below a Node that is gone and whose attachments name none. */
export interface Below {
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
const volumesLeft = async (cluster: Cluster, { node, attachments }: Suspect, { cloud, signal }: Ports): Promise<readonly VolumeFacts[]> => {
  const clues = { machine: NOBODY, nodeNames: [], machineOf: cloud.machineOf };
  const facts = await cluster.look({ clues, node: null, remembered: null, follow: [], attachments, named: [node] }, signal);
  return facts.nameTaken ? [] : facts.volumes.filter((volume) => cloud.diskOf(volume) !== null);
};

/** Nobody holds the disks, so only ids that the cloud would give to a Node of that name are left: one that it knows before one that it forgot. */
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
  if (holder === undefined) return volumes.some(({ attachment }) => attachment?.attached) ? guessed(suspect, volumes, ports) : NOTHING_HELD;
  return others.length === 0 ? known(holder) : unknown(suspect, `more than one machine holds their disks: ${[holder, ...others].join(', ')}`);
};

/**
 * The machine that was below a Node which is gone, by the disks that were attached to it: the one that holds them, or where
 * they are free, the one that their place and the Node's name speak for. A clue: a run has to prove that it was this one.
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
