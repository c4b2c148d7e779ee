import type { SearchPorts } from '../../diagnosis/machine-candidates.ts';
import { machineOfNode, type LocatedNode } from '../../diagnosis/machine-named.ts';
import { findFence, listFences, type ExistingFence } from '../../diagnosis/existing-fences.ts';
import { quoted } from '../../diagnosis/target.ts';
import { CloudfenceError, InvalidInput } from '../../fencing/model/errors.ts';
import { startRun } from '../../fencing/loop/state.ts';
import type { Outcome } from '../../fencing/model/outcome.ts';
import { run } from '../../fencing/loop/run.ts';
import { beginsNothing } from '../../fencing/model/policy.ts';
import { searchPorts } from '../../config/diagnose.ts';
import { newRunId } from '../../config/system.ts';
import { printOutcomes, printOutcome, outcomeOfError, type Terminal } from '../answer.ts';
import { keepByHand } from '../incident-place.ts';
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

const namingOf = ({ openedCloud, clusters: openClusters, ports }: Session): SearchPorts =>
  searchPorts({ openedCloud, openClusters, ports });

/**
 * Returns the machine of a fenced Node. If the record cannot be read, the machine is the one that the Node's identity
 * sources name.
 * @throws InvalidInput
 */
const machineAt = async (
  { cluster, node, machine }: Pick<ExistingFence, 'cluster' | 'node' | 'machine'>,
  session: Session,
): Promise<LocatedNode> => {
  if (machine !== null) return { cluster, node, machine };
  const naming = namingOf(session);
  const found = await machineOfNode(node, {
    ...naming,
    clusters: naming.clusters.filter((one) => one.cluster.name === cluster),
  });
  if (!found) throw new InvalidInput(`Node ${node} no longer exists in ${cluster}`);
  return found;
};

/**
 * Releases one fence. If nothing identifies the machine of this Node, the release of the other Nodes continues. If no
 * Node names the machine of the record, the Node is still fenced. Then the Node itself has to name its machine.
 */
const releaseFenced = async (fenced: ExistingFence, accepted: string | null, session: Session): Promise<Outcome> => {
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

const refuseMisuse = (target: string | undefined, { accept, all = false }: ReleaseOptions): void => {
  if (target !== undefined && all) throw new InvalidInput('name a Node, or give --all, not both');
  if (target === undefined && !all) throw new InvalidInput('name a Node, or give --all');
  if (accept?.trim() === '') throw new InvalidInput('--accept requires a reason: say what you checked');
};

/** Returns the outcome for the Node, or for the fence that something else leads to. */
const releaseNamed = async (target: string, accepted: string | null, session: Session): Promise<Outcome> => {
  const naming = namingOf(session);
  const node = await machineOfNode(target.replace(/^nodes?\//, ''), naming);
  if (node === null && accepted !== null)
    throw new InvalidInput(`--accept is your word about one Node: there is no Node ${quoted(target)}`);
  if (node === null) return releaseFenced(await findFence(target, naming), null, session);
  await openCloudsOf([node.machine], session);
  return releaseOne(node, accepted, session);
};

/** Returns the outcome for the target, or those for all fences. */
const released = async (
  target: string | undefined,
  accepted: string | null,
  session: Session,
): Promise<readonly Outcome[]> => {
  if (target !== undefined) return [await releaseNamed(target, accepted, session)];
  const fenced = await listFences(session.ports.clusters, session.ports.signal);
  return Promise.all(fenced.map((one) => releaseFenced(one, accepted, session)));
};

/** Releases fences, with the usual proof or on a person's word. */
export const release = async (
  target: string | undefined,
  options: ReleaseOptions,
  terminal: Terminal,
): Promise<number> => {
  refuseMisuse(target, options);
  const { json = false, accept: accepted = null } = options;
  return withSession(options, terminal, async (session) => {
    const outcomes = await released(target, accepted, session);
    const [only] = outcomes;
    const code =
      target !== undefined && only ? printOutcome(only, json, terminal) : printOutcomes(outcomes, json, terminal);
    await keepByHand('release', outcomes, session, terminal);
    return code;
  });
};
