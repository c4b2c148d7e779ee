import type { ConnectivitySurvey, SurveyOfClusters } from '../model/cluster-facts.ts';
import type { Cluster, NodeQuery } from '../model/cluster.ts';
import { asCloudfenceError, Unavailable } from '../model/errors.ts';
import type { IdentitySource } from '../model/machine.ts';
import { abortOnSignal, clusterAt, type Ports, STALE_LEASE_MS } from './ports.ts';
import type { RunState } from './state.ts';

type Machine = Pick<NodeQuery, 'machine' | 'machineOf'>;
type Elsewhere = Pick<SurveyOfClusters, 'elsewhere' | 'unanswered'>;

/**
 * A cluster has to answer within this time (ms), which is less than `timing.survey`. Otherwise, one unresponsive
 * cluster would make every survey too old, and the run would never report why it does not power the machine off.
 */
const ANSWERS_WITHIN_MS = 20_000;

/** @throws Unavailable if the cluster does not answer in time, and what `Cluster.surveyConnectivity` throws */
const asked = async (
  cluster: Cluster,
  node: string,
  machine: Machine,
  { clock, signal }: Ports,
): Promise<ConnectivitySurvey> => {
  const late = clock.timeout(ANSWERS_WITHIN_MS);
  const ending = AbortSignal.any([signal, late]);
  try {
    return await abortOnSignal(ending, () => cluster.surveyConnectivity(node, STALE_LEASE_MS, machine, ending));
  } catch (error) {
    if (!late.aborted || signal.aborted) throw error;
    const within = `${ANSWERS_WITHIN_MS / 1_000} s`;
    throw new Unavailable(`${cluster.name} did not answer within ${within}`, { cause: error });
  }
};

/**
 * Searches another cluster for Nodes that name the machine. A cluster that does not answer may contain such a Node, so
 * it is part of the result.
 */
const searched = async (cluster: Cluster, machine: Machine, ports: Ports): Promise<Elsewhere> => {
  const { name } = cluster;
  try {
    const { nodesNamingMachine: naming } = await asked(cluster, '', machine, ports);
    return { elsewhere: naming.map((node) => `${node} in ${name}`), unanswered: [] };
  } catch (error) {
    return { elsewhere: [], unanswered: [`${name} (${asCloudfenceError(error).message})`] };
  }
};

/**
 * Returns how to recognize the machine on a Node. The immutable id is sufficient: a Node that no cloud controller has
 * initialized yet has no providerID, but its kubelet reports the id that the guest reads about itself.
 */
const machineOn = ({ request: { machine }, identityRules, machine: read }: RunState): Machine => {
  const id = read?.value.incarnation?.id ?? null;
  const isIts = (source: IdentitySource): boolean => id !== null && identityRules.immutableIdsOf(source).includes(id);
  return { machine, machineOf: (source) => (isIts(source) ? machine : identityRules.machineOf(source)) };
};

/**
 * Returns which Nodes are unreachable, and which Nodes of any cluster name the machine. The run itself may have
 * searched only one cluster: the one that the machine's tag names, or the one in which a sweep saw its Node.
 *
 * @throws CloudfenceError if the machine's own cluster does not answer
 */
export const takeSurvey = async (node: string, state: RunState, ports: Ports): Promise<SurveyOfClusters> => {
  const { location } = state;
  const machine = machineOn(state);
  const others = ports.clusters.filter(({ name }) => name !== location?.cluster);
  const [own, ...rest] = await Promise.all([
    asked(clusterAt(location, ports), node, machine, ports),
    ...others.map((cluster) => searched(cluster, machine, ports)),
  ]);
  return {
    ...own,
    elsewhere: rest.flatMap(({ elsewhere }) => elsewhere),
    unanswered: rest.flatMap(({ unanswered }) => unanswered),
  };
};
