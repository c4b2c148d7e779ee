import { CoordinationV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { Reader } from './connection.ts';
import { renewTimeOf } from './lease.ts';
import { LEASE_NAMESPACE } from './names.ts';
import { pages } from './pages.ts';

/** Names of all Leases of kubelets, sorted by whether they are renewed. */
export interface Leases {
  readonly fresh: ReadonlySet<string>;
  readonly stale: ReadonlySet<string>;
}

/** A Lease without a time that can be read counts as stale: it only asks for a look. */
const isFresh = (renewed: string | null, since: number): boolean => renewed !== null && Date.parse(renewed) >= since;

/** `since`: the oldest renewTime that counts as fresh (epoch ms). */
export const readLeases = async (reader: Reader, since: number): Promise<Leases> => {
  const fresh = new Set<string>();
  const stale = new Set<string>();
  const readPage = (paging: { limit: number; _continue?: string }) =>
    reader.read(CoordinationV1Api, (api) => api.listNamespacedLease({ ...paging, namespace: LEASE_NAMESPACE }));
  for await (const page of pages(readPage)) {
    for (const lease of page) (isFresh(renewTimeOf(lease), since) ? fresh : stale).add(lease.metadata?.name ?? '');
  }
  return { fresh, stale };
};
