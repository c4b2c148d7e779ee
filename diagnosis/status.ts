import pLimit from 'p-limit';
import type { NodeFacts } from '../fencing/model/cluster-facts.ts';
import { CloudfenceError } from '../fencing/model/errors.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import { reasonOf } from '../fencing/loop/failing.ts';
import type { OutcomeKind } from '../fencing/model/outcome.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { because, type Reason } from '../fencing/model/reason.ts';
import type { FenceRecord } from '../fencing/model/record.ts';
import { isFenced } from '../fencing/rules/release.ts';
import type { Standing, StatusPorts } from './status-ports.ts';

/** The present state of every cluster: fences, tombstones, the cap, and the pause. Only reads. */

export interface FenceStatus {
  readonly node: string;
  readonly ready: NodeFacts['ready'];
  /** Null if nothing, or more than one thing, names the machine. */
  readonly machine: MachineId | null;
  /** Null if the record is lost or unreadable. */
  readonly record: FenceRecord | null;
  readonly taints: NodeFacts['taints'];
  /** How a release would end now, and what it still needs. */
  readonly release: { readonly outcome: OutcomeKind; readonly reason: Reason };
}

export interface ClusterStatus extends Omit<Standing, 'nodes'> {
  readonly cluster: string;
  readonly fences: readonly FenceStatus[];
  /** Fences that a person removed by hand. */
  readonly tombstones: readonly { readonly node: string; readonly fence: string }[];
  /** Machines that were seen stopping (epoch ms). */
  readonly stopping: readonly { readonly node: string; readonly since: number }[];
}

export interface Status {
  readonly clusters: readonly ClusterStatus[];
  /** Clusters that did not answer, and why. */
  readonly unreachable: readonly { readonly cluster: string; readonly error: CloudfenceError }[];
  readonly policy: Pick<Policy, 'paused' | 'shadow' | 'cap'>;
  /** Epoch ms. */
  readonly now: number;
}

const machineOn = ({ record, identitySources }: NodeFacts, { machineOf }: StatusPorts): MachineId | null => {
  if (record) return record.machine;
  const [machine, ...more] = new Set(identitySources.map(machineOf).filter((named) => named !== null));
  return more.length === 0 ? (machine ?? null) : null;
};

const rehearsed = async (
  cluster: string,
  machine: MachineId | null,
  { rehearseRelease }: StatusPorts,
): Promise<FenceStatus['release']> => {
  if (machine === null)
    return { outcome: 'refused', reason: because('identity-unproven', 'nothing on the Node names one machine') };
  try {
    const { outcome, reason } = await rehearseRelease({ cluster, machine });
    return { outcome, reason };
  } catch (error) {
    if (error instanceof CloudfenceError) return { outcome: 'failed', reason: reasonOf(error) };
    throw error;
  }
};

/** Releases are rehearsed a few at a time, because each asks the cloud and the cluster. */
const AT_A_TIME = 5;

const fenceStatus = async (cluster: string, node: NodeFacts, ports: StatusPorts): Promise<FenceStatus> => {
  const { name, ready, record, taints } = node;
  const machine = machineOn(node, ports);
  return { node: name, ready, machine, record, taints, release: await rehearsed(cluster, machine, ports) };
};

const clusterStatus = async (
  cluster: string,
  { nodes, paused, cap }: Standing,
  ports: StatusPorts,
): Promise<ClusterStatus> => {
  const limit = pLimit(AT_A_TIME);
  const fenced = nodes.filter(isFenced);
  return {
    cluster,
    paused,
    cap,
    fences: await Promise.all(fenced.map((node) => limit(() => fenceStatus(cluster, node, ports)))),
    tombstones: nodes.flatMap(({ name, tombstone }) => (tombstone ? [{ node: name, fence: tombstone.fence }] : [])),
    stopping: nodes.flatMap(({ name, stopping }) => (stopping ? [{ node: name, since: stopping.at }] : [])),
  };
};

/** Returns the state of every cluster that answers, and names the others. */
export const readStatus = async (ports: StatusPorts): Promise<Status> => {
  const { clusters, policy, signal } = ports;
  const unreachable: Status['unreachable'][number][] = [];
  const answers = await Promise.all(
    clusters.map(async ({ name, read }) => {
      try {
        return await clusterStatus(name, await read(policy.cap, signal), ports);
      } catch (error) {
        if (!(error instanceof CloudfenceError)) throw error;
        unreachable.push({ cluster: name, error });
        return null;
      }
    }),
  );
  return {
    clusters: answers.filter((answer) => answer !== null),
    unreachable,
    policy,
    now: ports.now(),
  };
};
