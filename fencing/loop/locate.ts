import type { ClusterFacts } from '../model/cluster-facts.ts';
import { type CloudfenceError, PermissionDenied, Unexpected } from '../model/errors.ts';
import { isPermanent } from './ending.ts';
import type { RunState, Observation } from './state.ts';
import { withClusterRead } from './reads.ts';
import type { MachineFacts, MachineId } from '../model/machine.ts';
import { because, type Reason } from '../model/reason.ts';
import type { Moment } from '../rules/view.ts';

/** Finds the machine's location in the answers of all clusters. */

/** The answer of one cluster about the machine. */
export interface ClusterSearchResult {
  readonly cluster: string;
  readonly nodes: readonly string[];
  /** The Nodes among them that have our out-of-service taint. Read only if several Nodes name the machine. */
  readonly marked: readonly string[];
  /**
   * What was read there: the only Node that names the machine, or the objects that a deleted Node left behind. Null if
   * nothing was read.
   */
  readonly facts: Observation<ClusterFacts> | null;
  readonly error: CloudfenceError | null;
}

/**
 * Returns the clusters to search: only the cluster that the machine's tag names, if it is configured, and otherwise all
 * clusters.
 */
export const clustersToAsk = <C extends { readonly name: string }>(
  machine: Pick<MachineFacts, 'clusters'>,
  clusters: readonly C[],
): readonly C[] => {
  const tagged = clusters.filter((cluster) => machine.clusters.includes(cluster.name));
  return tagged.length > 0 ? tagged : clusters;
};

const CLUSTER_RETRY_MS = 5_000;

/**
 * Returns the run state with the machine's location. Refuses if two Nodes name the machine. If a cluster did not
 * answer, it may contain the Node. In that case, the machine is not ignored.
 */
export const withLocation = (state: RunState, found: readonly ClusterSearchResult[], now: Moment): RunState => {
  const nodes = found.flatMap(({ cluster, nodes: names }) => names.map((node) => ({ cluster, node })));
  const [only, second] = nodes;
  if (second) return ambiguous(state, nodes, found);
  if (only) return atNode({ ...state, location: only, failures: 0 }, found, now);
  const unreachable = found.filter(({ error }) => error !== null);
  return unreachable.length > 0 ? notFound(state, unreachable, now) : withoutNode({ ...state, failures: 0 }, found);
};

const failed = (state: RunState, reason: Reason, retry: boolean): RunState => ({
  ...state,
  ending: { outcome: 'failed', reason, lookAgainIn: null, retry },
});

/**
 * Returns the run state if no cluster has the Node and some clusters did not answer. If a cluster permanently rejects
 * the first read, for example because of an unknown token, the run ends, because waiting cannot help.
 */
const notFound = (state: RunState, unreachable: readonly ClusterSearchResult[], now: Moment): RunState => {
  const hopeless = unreachable.find(({ error }) => error !== null && isPermanent(error));
  if (!hopeless?.error) return waitForClusters(state, unreachable, now);
  const { cluster, error } = hopeless;
  if (error instanceof Unexpected) return failed(state, because('unexpected', error.message), error.retry);
  const reason = because(error instanceof PermissionDenied ? 'denied' : 'invalid', `${cluster}: ${error.message}`);
  const comesUp = state.pending?.reason.code === 'cluster-unreachable' || state.pending?.reason.code === 'denied';
  return comesUp && error.retry ? tryAgain(state, 'failed', reason, now) : failed(state, reason, error.retry);
};

export const ambiguousNodesReason = (
  machine: MachineId,
  nodes: readonly { readonly cluster: string; readonly node: string }[],
): Reason =>
  because(
    'identity-ambiguous',
    `more than one Node names ${machine}: ` +
      `${nodes.map(({ cluster, node }) => `${node} in ${cluster}`).join(', ')}; run cloudfence doctor for the ` +
      'remedy',
  );

/**
 * Returns the run state if several Nodes name the machine. Our taint must not stay on the Node of a running machine,
 * whichever of the Nodes is the right one. So the run looks at the Node with our taint before it refuses.
 */
const ambiguous = (
  state: RunState,
  nodes: readonly { readonly cluster: string; readonly node: string }[],
  found: readonly ClusterSearchResult[],
): RunState => {
  const reason = ambiguousNodesReason(state.request.machine, nodes);
  const bearer = nodes.find(({ cluster, node }) =>
    found.some((one) => one.cluster === cluster && one.marked.includes(node)),
  );
  return bearer ? { ...state, location: bearer, ambiguity: reason, failures: 0 } : refusedFor(state, reason);
};

const refusedFor = (state: RunState, reason: Reason): RunState => ({
  ...state,
  ending: { outcome: 'refused', reason, lookAgainIn: null, retry: false },
});

const waitForClusters = (state: RunState, unreachable: readonly ClusterSearchResult[], now: Moment): RunState => {
  const silentClusters = unreachable
    .map(({ cluster, error }) => `${cluster} (${error?.message ?? 'no response'})`)
    .join(', ');
  const reason = because(
    'cluster-unreachable',
    `no reachable cluster has ${state.request.machine}, and these clusters did not respond: ${silentClusters}`,
  );
  return tryAgain(state, 'waiting', reason, now);
};

const tryAgain = (state: RunState, outcome: 'waiting' | 'failed', reason: Reason, now: Moment): RunState => ({
  ...state,
  machine: null,
  resumeAt: now.mono + CLUSTER_RETRY_MS,
  pending: { outcome, reason, ms: CLUSTER_RETRY_MS },
});

/** Returns the run state once the Node is known. The search may have already included the first look at it. */
const atNode = (state: RunState, found: readonly ClusterSearchResult[], now: Moment): RunState => {
  const facts = found.find(({ nodes }) => nodes.length > 0)?.facts;
  return facts ? withClusterRead(state, facts, now) : state;
};

const hasLeftovers = ({ facts }: ClusterSearchResult): boolean =>
  facts !== null && (facts.value.volumes.length > 0 || facts.value.pods.length > 0);

/** Returns whether a cluster has something of the machine that a run may free. A kubelet can invent the rest. */
const hasOwnLeftovers = ({ facts }: ClusterSearchResult): boolean =>
  facts !== null && (facts.value.pods.length > 0 || facts.value.volumes.some(({ nameTaken }) => !nameTaken));

const withoutNode = (state: RunState, found: readonly ClusterSearchResult[]): RunState => {
  const holder = found.find(hasOwnLeftovers) ?? found.find(hasLeftovers);
  if (holder?.facts)
    return withClusterRead(
      { ...state, location: { cluster: holder.cluster, node: null } },
      holder.facts,
      holder.facts.requestedAt,
    );
  const reason = whyNowhere(
    state,
    found.map(({ cluster }) => cluster),
  );
  return { ...state, ending: { outcome: 'ignored', reason, lookAgainIn: null, retry: false } };
};

/** Returns why nothing in the clusters belongs to the machine, and what a person should notice about that. */
const whyNowhere = ({ request: { machine, intent }, machine: seen }: RunState, clusters: readonly string[]): Reason => {
  const nothing = `no Node, pod, or VolumeAttachment in ${clusters.join(', ')} belongs to`;
  if (seen === null || intent !== 'fence') return because('no-node', `${nothing} ${machine}`);
  const { power } = seen.value;
  if (power === 'missing' || power === 'unknown')
    return because(
      'machine-unknown',
      `the cloud ${power === 'missing' ? 'does not know' : 'reports no state of'} ${machine}, and ${nothing} it`,
    );
  return isMissedIn(clusters, seen.value)
    ? because(
        'not-in-its-cluster',
        `${nothing} ${machine}, although its tags name this cluster: another cluster may have the same name`,
      )
    : because('no-node', `${nothing} ${machine}`);
};

/**
 * Returns whether a cluster lacks a machine that its tags name. A terminated machine has left its cluster, and one that
 * is starting may not have joined it yet.
 */
const isMissedIn = (clusters: readonly string[], machine: MachineFacts): boolean =>
  !machine.forGood && machine.power !== 'starting' && clusters.some((cluster) => machine.clusters.includes(cluster));
