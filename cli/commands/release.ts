import { InvalidInput } from '../../fencing/errors.ts';
import { begin } from '../../fencing/known.ts';
import type { Outcome } from '../../fencing/outcome.ts';
import { run } from '../../fencing/run.ts';
import { STALE_LEASE_MS } from '../../fencing/run.ts';
import { newRunId } from '../../wiring/run-id.ts';
import { answerAll, answerOne, type Output } from '../answer.ts';
import { machineOfNode, type NodeAt } from '../machine-of-node.ts';
import { withSession, type CommonOptions, type Session } from '../session.ts';

export interface ReleaseOptions extends CommonOptions {
  /** The reason of a person who has checked the machine. */
  readonly accept?: string;
  readonly all?: boolean;
}

const releaseOne = ({ machine, cluster }: NodeAt, accepted: string | null, { policy, deadline, ports }: Session): Promise<Outcome> =>
  run(begin({ request: { machine, intent: 'release', accepted, vouched: null }, policy, deadline, reading: ports.cloud, runId: newRunId() }), {
    ...ports,
    clusters: ports.clusters.filter(({ name }) => name === cluster),
  });

const nodeNamed = async (node: string, { ports }: Session): Promise<NodeAt> => {
  const found = await machineOfNode(node, ports);
  if (!found) throw new InvalidInput(`there is no Node "${node}" in ${ports.clusters.map(({ name }) => name).join(', ')}`);
  return found;
};

/** Every Node that carries our label, in every cluster. */
const allFenced = async ({ ports }: Session): Promise<readonly NodeAt[]> => {
  const perCluster = await Promise.all(
    ports.clusters.map(async (cluster) => {
      const suspects = await cluster.suspects(STALE_LEASE_MS, ports.signal);
      return suspects.filter(({ because }) => because === 'fenced').map(({ node, record }) => ({ cluster: cluster.name, node, machine: record?.machine ?? null }));
    }),
  );
  return perCluster.flat().map(({ machine, ...at }) => {
    if (machine === null) throw new InvalidInput(`the fence record on Node ${at.node} cannot be read: release it by its name, with --accept`);
    return { ...at, machine };
  });
};

/** Takes fences back: by the same proof as ever, or on the word of a person. */
export const release = (node: string | undefined, options: ReleaseOptions, output: Output): Promise<number> =>
  withSession(options, output, async (session) => {
    const json = options.json ?? false;
    const accepted = options.accept ?? null;
    if (options.all) {
      const outcomes = await Promise.all((await allFenced(session)).map((at) => releaseOne(at, accepted, session)));
      return answerAll(outcomes, json, output);
    }
    if (node === undefined) throw new InvalidInput('name a Node, or give --all');
    return answerOne(await releaseOne(await nodeNamed(node, session), accepted, session), json, output);
  });
