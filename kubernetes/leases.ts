import { CoordinationV1Api, type V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import type { ConnectivitySurvey } from '../fencing/model/cluster-facts.ts';
import type { NodeQuery } from '../fencing/model/cluster.ts';
import { pages, type Reader } from './connection.ts';
import { LEASE_NAMESPACE, UNINITIALIZED, ZONE_LABEL } from './names.ts';
import { hasFenceTraces, hasTaint } from './node-facts.ts';
import { anySourceNamesMachine, nodeIdentitySources, nodePages } from './node.ts';

/**
 * Returns a Lease's renewTime as text, or null. The client declares a date but returns a MicroTime as the original
 * text, with its microseconds. This function accepts both.
 */
export const renewTimeOf = (lease: { readonly spec?: { readonly renewTime?: unknown } }): string | null => {
  const time = lease.spec?.renewTime;
  if (typeof time === 'string') return time;
  return time instanceof Date ? time.toISOString() : null;
};

/**
 * Returns when the Node's kubelet last renewed its Lease, as the Lease states it, or null.
 * https://kubernetes.io/docs/concepts/architecture/leases/
 */
export const readLease = async (reader: Reader, node: string): Promise<string | null> => {
  const lease = await reader.readIfPresent(CoordinationV1Api, { namespace: LEASE_NAMESPACE, name: node }, (api, key) =>
    api.readNamespacedLease(key),
  );
  return lease && renewTimeOf(lease);
};

/** The names of all kubelet Leases, sorted by whether they are renewed. */
interface Leases {
  readonly fresh: ReadonlySet<string>;
  readonly stale: ReadonlySet<string>;
  /** Leases whose time is so far in the future that the node's clock must be wrong. */
  readonly ahead: ReadonlySet<string>;
}

/** The times with which a Lease's renewTime is compared, in ms. */
export interface Freshness {
  /** Epoch ms. */
  readonly now: number;
  readonly staleFor: number;
}

const CLOCK_AHEAD_MS = 60_000;

/**
 * Classifies a Lease by its renewTime. A Lease without a readable time counts as stale, because a stale Lease only
 * leads to a look.
 */
const kindOf = (renewed: string | null, { now, staleFor }: Freshness): keyof Leases => {
  const time = Date.parse(renewed ?? '');
  if (time > now + CLOCK_AHEAD_MS) return 'ahead';
  return time >= now - staleFor ? 'fresh' : 'stale';
};

export const readLeases = async (reader: Reader, freshness: Freshness): Promise<Leases> => {
  const leases = { fresh: new Set<string>(), stale: new Set<string>(), ahead: new Set<string>() };
  const readPage = (paging: { limit: number; _continue?: string }) =>
    reader.read(CoordinationV1Api, (api) => api.listNamespacedLease({ ...paging, namespace: LEASE_NAMESPACE }));
  for await (const page of pages(readPage)) {
    for (const lease of page) leases[kindOf(renewTimeOf(lease), freshness)].add(lease.metadata?.name ?? '');
  }
  return leases;
};

interface SurveyedNode {
  readonly zone: string;
  /**
   * True for a fenced Node. Its silence shows nothing about the network, and its existence shows nothing about its
   * zone.
   */
  readonly fenced: boolean;
  /** True if something on the Node names the queried machine, or if nothing names a machine yet. */
  readonly namesMachine: boolean;
}

type Machine = Pick<NodeQuery, 'machine' | 'machineOf'>;

/**
 * Returns whether the Node names the machine or may belong to it. It may belong to it if the kubelet has registered,
 * the cloud controller has not initialized the Node yet, and nothing else on it names a machine.
 * https://kubernetes.io/docs/tasks/administer-cluster/running-cloud-controller/
 */
const mayNameMachine = (node: V1Node, machine: Machine): boolean => {
  const sources = nodeIdentitySources(node);
  const isNameless = sources.every((source) => machine.machineOf(source) === null);
  return anySourceNamesMachine(sources, machine) || (isNameless && hasTaint(node, UNINITIALIZED));
};

/** Returns the facts about a Node that a survey counts. */
export const surveyedNode = (node: V1Node, machine: Machine): SurveyedNode => ({
  zone: node.metadata?.labels?.[ZONE_LABEL] ?? '',
  fenced: hasFenceTraces(node),
  namesMachine: mayNameMachine(node, machine),
});

/**
 * Reads whole Nodes, because only whole Nodes include the providerID. These Nodes are listed only before a power-off.
 */
const readNodes = async (reader: Reader, machine: Machine): Promise<ReadonlyMap<string, SurveyedNode>> => {
  const nodes = new Map<string, SurveyedNode>();
  for await (const page of nodePages(reader)) {
    for (const node of page) nodes.set(node.metadata?.name ?? '', surveyedNode(node, machine));
  }
  return nodes;
};

/**
 * Lists the unreachable Nodes, the Nodes of the same zone, and all Nodes that name the machine. In case of doubt, the
 * result argues against acting. Another Node without any Lease counts as unreachable. This Node counts as unreachable
 * only when its Lease exists and is stale. All Nodes without a zone label count as one zone. A silent Node with a fence
 * counts neither as unreachable nor as a sign that its zone works.
 */
export const surveyConnectivity = async (
  reader: Reader,
  node: string,
  freshness: Freshness,
  machine: Machine,
): Promise<ConnectivitySurvey> => {
  const [leases, nodes] = await Promise.all([readLeases(reader, freshness), readNodes(reader, machine)]);
  return connectivityOf(node, leases, nodes);
};

/** Returns the survey for a Node. Pure. */
export const connectivityOf = (
  node: string,
  { fresh, stale }: Pick<Leases, 'fresh' | 'stale'>,
  nodes: ReadonlyMap<string, SurveyedNode>,
): ConnectivitySurvey => {
  const names = [...nodes.keys()];
  const awake = names.filter((name) => name === node || fresh.has(name) || !nodes.get(name)?.fenced);
  return {
    unreachable: awake.filter((name) => (name === node ? stale.has(name) : !fresh.has(name))),
    zone: awake.filter((name) => nodes.get(name)?.zone === nodes.get(node)?.zone),
    nodesNamingMachine: names.filter((name) => nodes.get(name)?.namesMachine),
  };
};
