import { CoordinationV1Api, CoreV1Api, type V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import type { ConnectivitySurvey } from '../fencing/model/cluster-facts.ts';
import type { NodeQuery } from '../fencing/model/cluster.ts';
import { pages, type Reader } from './connection.ts';
import { LEASE_NAMESPACE, ZONE_LABEL } from './names.ts';
import { isFenced } from './node-facts.ts';
import { namesMachine, nodeIdentitySources } from './node.ts';

/**
 * The client declares a date but hands a MicroTime out as the text that came, with its microseconds; both are taken.
 */
const renewTimeOf = (lease: { readonly spec?: { readonly renewTime?: unknown } }): string | null => {
  const time = lease.spec?.renewTime;
  if (typeof time === 'string') return time;
  return time instanceof Date ? time.toISOString() : null;
};

/**
 * When the Node's kubelet last renewed its Lease, as it stands there, or null.
 * https://kubernetes.io/docs/concepts/architecture/leases/
 */
export const readLease = async (reader: Reader, node: string): Promise<string | null> => {
  const lease = await reader.readIfPresent(CoordinationV1Api, (api) =>
    api.readNamespacedLease({ namespace: LEASE_NAMESPACE, name: node }),
  );
  return lease && renewTimeOf(lease);
};

/** Names of all Leases of kubelets, sorted by whether they are renewed. */
interface Leases {
  readonly fresh: ReadonlySet<string>;
  readonly stale: ReadonlySet<string>;
  /** Dated so far ahead that the node's clock, and not a renewal, makes them look fresh. */
  readonly ahead: ReadonlySet<string>;
}

/** Against what a Lease's renewTime is judged, in ms. */
export interface Freshness {
  /** Epoch. */
  readonly now: number;
  readonly staleFor: number;
}

const AHEAD_MS = 60_000;

/** A Lease without a time that can be read counts as stale: it only asks for a look. */
const kindOf = (renewed: string | null, { now, staleFor }: Freshness): keyof Leases => {
  const time = Date.parse(renewed ?? '');
  if (time > now + AHEAD_MS) return 'ahead';
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

interface Counted {
  readonly zone: string;
  /** Fenced: that it is silent says nothing of the network, and that it stands nothing of its zone. */
  readonly parked: boolean;
  /** Something on it names the machine that is asked about. */
  readonly claims: boolean;
}

type Machine = Pick<NodeQuery, 'machine' | 'machineOf'>;

const counted = (node: V1Node, machine: Machine): Counted => ({
  zone: node.metadata?.labels?.[ZONE_LABEL] ?? '',
  parked: isFenced(node),
  claims: namesMachine(nodeIdentitySources(node), machine),
});

/** Whole Nodes, for only those have their providerID: this is asked before a power-off, and otherwise never. */
const readNodes = async (reader: Reader, machine: Machine): Promise<ReadonlyMap<string, Counted>> => {
  const nodes = new Map<string, Counted>();
  for await (const page of pages((paging) => reader.read(CoreV1Api, (core) => core.listNode(paging)))) {
    for (const node of page) nodes.set(node.metadata?.name ?? '', counted(node, machine));
  }
  return nodes;
};

/**
 * Lists unreachable Nodes, and all that claim the machine. In doubt the result argues against acting: another Node
 * without any Lease counts as unreachable, this one only when its Lease is there and stale. Nodes without a zone label
 * form a zone of their own. A silent Node under a fence is parked: it is neither unreachable nor a sign of life of its
 * zone.
 */
export const surveyConnectivity = async (
  reader: Reader,
  node: string,
  freshness: Freshness,
  machine: Machine,
): Promise<ConnectivitySurvey> => {
  const [{ fresh, stale }, nodes] = await Promise.all([readLeases(reader, freshness), readNodes(reader, machine)]);
  const names = [...nodes.keys()];
  const awake = names.filter((name) => name === node || fresh.has(name) || !nodes.get(name)?.parked);
  return {
    unreachable: awake.filter((name) => (name === node ? stale.has(name) : !fresh.has(name))),
    zone: awake.filter((name) => nodes.get(name)?.zone === nodes.get(node)?.zone),
    claimants: names.filter((name) => nodes.get(name)?.claims),
  };
};
