import { CoordinationV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { Reader } from './connection.ts';
import { renewTimeOf } from './lease.ts';
import { LEASE_NAMESPACE } from './names.ts';
import { pages } from './pages.ts';

/** Names of all Leases of kubelets, sorted by whether they are renewed. */
export interface Leases {
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
