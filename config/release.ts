import { type SearchPorts, quoted } from '../diagnosis/target.ts';
import { type LocatedNode, machineOfNode, type ExistingFence, findFence } from '../diagnosis/by-name.ts';
import type { Ports } from '../fencing/loop/ports.ts';
import { run } from '../fencing/loop/run.ts';
import { startRun } from '../fencing/loop/state.ts';
import { CloudfenceError, InvalidInput } from '../fencing/model/errors.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import type { Outcome } from '../fencing/model/outcome.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { type NamingTools, searchPorts } from './diagnose.ts';

/**
 * Releases fences for a person, with the usual proof or because the person confirms the return. The CLI and the
 * functions share this.
 */

export interface ReleaseTools extends Pick<NamingTools, 'openedCloud' | 'openClusters'> {
  readonly ports: Ports;
  readonly policy: Policy;
  /** Monotonic clock (ms). */
  readonly deadline: number;
  readonly newRunId: () => string;
  /** Opens the cloud of the machine, if its id is not sufficient for that. */
  readonly prepare?: (machine: MachineId) => Promise<unknown>;
  /** Returns the outcome for a fence whose release could not begin. Without it, the error is thrown. */
  readonly failed?: (error: CloudfenceError, fenced: FencedNode) => Outcome;
}

/** The Node of a fence, and its machine, if the record names it. */
type FencedNode = Pick<ExistingFence, 'cluster' | 'node' | 'machine'>;

/**
 * Releases the fence to which a name leads: the fence of a Node, or of the other named object.
 * @param accepted the reason of a person who has checked the machine
 * @throws InvalidInput, before any action
 */
export const releaseNamed = async (target: string, accepted: string | null, tools: ReleaseTools): Promise<Outcome> => {
  const naming = searchPorts(tools);
  const node = await machineOfNode(target.replace(/^nodes?\//, ''), naming);
  if (node === null && accepted !== null)
    throw new InvalidInput(`accept is your word about one Node: there is no Node ${quoted(target)}`);
  if (node === null) return releaseFenced(await findFence(target, naming), null, tools);
  await tools.prepare?.(node.machine);
  return releaseOne(node, accepted, tools);
};

/**
 * Releases one fence. If no Node names the machine in the record, the Node is still fenced. In that case, the Node
 * itself must name its machine.
 */
export const releaseFenced = async (
  fenced: FencedNode,
  accepted: string | null,
  tools: ReleaseTools,
): Promise<Outcome> => {
  const naming = searchPorts(tools);
  try {
    const outcome = await releaseOne(await machineAt(fenced, naming), accepted, tools);
    return outcome.reason.code === 'no-node'
      ? await releaseOne(await machineAt({ ...fenced, machine: null }, naming), accepted, tools)
      : outcome;
  } catch (error) {
    if (error instanceof CloudfenceError && tools.failed) return tools.failed(error, fenced);
    throw error;
  }
};

/**
 * Returns the machine of a fenced Node. If the record cannot be read, the machine is the one in the Node's identity
 * sources.
 * @throws InvalidInput
 */
const machineAt = async ({ cluster, node, machine }: FencedNode, naming: SearchPorts): Promise<LocatedNode> => {
  if (machine !== null) return { cluster, node, machine };
  const found = await machineOfNode(node, {
    ...naming,
    clusters: naming.clusters.filter((one) => one.cluster.name === cluster),
  });
  if (!found) throw new InvalidInput(`Node ${node} no longer exists in ${cluster}`);
  return found;
};

const releaseOne = (
  { machine, cluster }: LocatedNode,
  accepted: string | null,
  { policy, deadline, ports, newRunId }: ReleaseTools,
): Promise<Outcome> =>
  run(
    startRun({
      request: { machine, intent: 'release', accepted, vouched: null },
      policy,
      deadline,
      identityRules: ports.cloud,
      runId: newRunId(),
    }),
    { ...ports, clusters: ports.clusters.filter(({ name }) => name === cluster) },
  );
