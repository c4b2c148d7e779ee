import { CloudfenceError, InvalidInput } from '../../fencing/model/errors.ts';
import { startRun } from '../../fencing/loop/state.ts';
import type { MachineId } from '../../fencing/model/machine.ts';
import type { Outcome } from '../../fencing/model/outcome.ts';
import { run } from '../../fencing/loop/run.ts';
import { beginsNothing } from '../../fencing/model/policy.ts';
import { STALE_LEASE_MS } from '../../fencing/loop/ports.ts';
import { newRunId } from '../../config/system.ts';
import { printOutcomes, printOutcome, outcomeOfError, type Terminal } from '../answer.ts';
import { machineOfNode, quoted, type LocatedNode } from '../machine-of-node.ts';
import { openCloudsOf, withSession, type CommonOptions, type Session } from '../session.ts';

export interface ReleaseOptions extends CommonOptions {
  /** The reason of a person who has checked the machine. */
  readonly accept?: string;
  readonly all?: boolean;
}

const releaseOne = (
  { machine, cluster }: LocatedNode,
  accepted: string | null,
  { policy, deadline, ports }: Session,
): Promise<Outcome> =>
  run(
    startRun({
      request: { machine, intent: 'release', accepted, vouched: null },
      policy,
      deadline,
      identityRules: ports.cloud,
      runId: newRunId(),
    }),
    {
      ...ports,
      clusters: ports.clusters.filter(({ name }) => name === cluster),
    },
  );

const nodeNamed = async (node: string, session: Session): Promise<LocatedNode> => {
  const { ports } = session;
  const found = await machineOfNode(node, ports);
  if (!found)
    throw new InvalidInput(
      `Node ${quoted(node)} does not exist in ${ports.clusters.map(({ name }) => name).join(', ')}`,
    );
  await openCloudsOf([found.machine], session);
  return found;
};

/** A Node with a fence of Cloudfence, and the machine that its record names; null when the record cannot be read. */
interface Fenced {
  readonly cluster: string;
  readonly node: string;
  readonly machine: MachineId | null;
}

const allFenced = async ({ ports }: Session): Promise<readonly Fenced[]> => {
  const perCluster = await Promise.all(
    ports.clusters.map(async (cluster) => {
      const suspects = await cluster.suspects(STALE_LEASE_MS, ports.signal);
      return suspects
        .filter(({ because }) => because === 'fenced')
        .map(({ node, record }) => ({ cluster: cluster.name, node, machine: record?.machine ?? null }));
    }),
  );
  return perCluster.flat();
};

/**
 * Returns the machine of a fenced Node. If the record cannot be read, the machine is the one that the Node's identity
 * sources name.
 * @throws InvalidInput
 */
const machineAt = async ({ cluster, node, machine }: Fenced, { ports }: Session): Promise<LocatedNode> => {
  if (machine !== null) return { cluster, node, machine };
  const found = await machineOfNode(node, {
    ...ports,
    clusters: ports.clusters.filter(({ name }) => name === cluster),
  });
  if (!found) throw new InvalidInput(`Node ${node} no longer exists in ${cluster}`);
  return found;
};

/**
 * Releases one fence. If nothing identifies the machine of this Node, the release of the other Nodes continues. If no
 * Node names the machine of the record, the fence still stands: then the Node itself has to name its machine.
 */
const releaseFenced = async (fenced: Fenced, accepted: string | null, session: Session): Promise<Outcome> => {
  try {
    const outcome = await releaseOne(await machineAt(fenced, session), accepted, session);
    return outcome.reason.code === 'no-node'
      ? await releaseOne(await machineAt({ ...fenced, machine: null }, session), accepted, session)
      : outcome;
  } catch (error) {
    if (error instanceof CloudfenceError)
      return {
        ...outcomeOfError(error, beginsNothing(session.policy)),
        cluster: fenced.cluster,
        node: fenced.node,
      };
    throw error;
  }
};

const refuseMisuse = (node: string | undefined, { accept, all = false }: ReleaseOptions): void => {
  if (node !== undefined && all) throw new InvalidInput('name a Node, or give --all, not both');
  if (node === undefined && !all) throw new InvalidInput('name a Node, or give --all');
  if (accept?.trim() === '') throw new InvalidInput('--accept requires a reason: say what you checked');
};

/** Releases fences, with the usual proof or on a person's word. */
export const release = async (
  node: string | undefined,
  options: ReleaseOptions,
  terminal: Terminal,
): Promise<number> => {
  refuseMisuse(node, options);
  const { json = false, accept: accepted = null } = options;
  return withSession(options, terminal, async (session) => {
    if (node !== undefined)
      return printOutcome(await releaseOne(await nodeNamed(node, session), accepted, session), json, terminal);
    const fenced = await allFenced(session);
    return printOutcomes(await Promise.all(fenced.map((one) => releaseFenced(one, accepted, session))), json, terminal);
  });
};
