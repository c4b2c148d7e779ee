import { CoordinationV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { Reader } from './connection.ts';
import { LEASE_NAMESPACE } from './names.ts';

/** The client declares a date but hands a MicroTime out as the text that came, with its microseconds; both are taken. */
export const renewTimeOf = (lease: { readonly spec?: { readonly renewTime?: unknown } }): string | null => {
  const time = lease.spec?.renewTime;
  if (typeof time === 'string') return time;
  return time instanceof Date ? time.toISOString() : null;
};

/** When the Node's kubelet last renewed its Lease, as it stands there, or null. https://kubernetes.io/docs/concepts/architecture/leases/ */
export const readLease = async (reader: Reader, node: string): Promise<string | null> => {
  const lease = await reader.readIfPresent(CoordinationV1Api, (api) => api.readNamespacedLease({ namespace: LEASE_NAMESPACE, name: node }));
  return lease && renewTimeOf(lease);
};
